// Puts the instructions of called computations in place of the calls.
#ifndef MESHWRIGHT_HLO_INLINE_CALLS_H_
#define MESHWRIGHT_HLO_INLINE_CALLS_H_

#include "meshwright/hlo/module.h"

namespace meshwright {

bool HasCalls(const Module& module);

// The same program without `call` instructions; loops, branches and reductions
// keep their computations. Names stay where they are unique; what the user's
// program called an instruction (op_name) is told from its call (CallScope).
// Requires: `module` passed Verify.
Module InlineCalls(const Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_INLINE_CALLS_H_
