// Inlines calls and fusions.
#ifndef MESHWRIGHT_HLO_INLINE_CALLS_H_
#define MESHWRIGHT_HLO_INLINE_CALLS_H_

#include "meshwright/hlo/module.h"

namespace meshwright {

bool HasCalls(const Module& module);

// The same program without `call` and `fusion` instructions, and without a
// schedule; loops, branches and reductions keep their computations. Names are
// kept if they are unique; op_name metadata is derived from the call
// (CallScope). Requires: `module` passed Verify.
Module InlineCalls(const Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_INLINE_CALLS_H_
