// Barriers around several arrays, as one for each.
//
//   b = opt-barrier((x, w)); y = b.0 * b.1
//   -> y = opt-barrier(x) * opt-barrier(w)
//
// What is behind them stays apart from what is before, which is what code that
// is computed again needs; but no array waits for another.
#ifndef MESHWRIGHT_HLO_SEPARATE_BARRIERS_H_
#define MESHWRIGHT_HLO_SEPARATE_BARRIERS_H_

#include "meshwright/hlo/module.h"

namespace meshwright {

// Whether SeparateBarriers would change anything: some barrier takes a tuple of
// which several elements are used, and nothing else of it.
bool HasJointBarriers(const Module& module);

// Names stay: those of the elements are those of the barriers now.
// Requires: the module passed Verify.
void SeparateBarriers(Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_SEPARATE_BARRIERS_H_
