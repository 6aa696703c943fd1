// Splits optimization barriers of several arrays into one for each.
//
//   b = opt-barrier((x, w)); y = b.0 * b.1
//   -> y = opt-barrier(x) * opt-barrier(w)
//
// Instructions behind barriers stay separate from those before, as
// rematerialised code needs; but no array waits for another.
#ifndef MESHWRIGHT_HLO_SEPARATE_BARRIERS_H_
#define MESHWRIGHT_HLO_SEPARATE_BARRIERS_H_

#include "meshwright/hlo/module.h"

namespace meshwright {

// Whether SeparateBarriers would change anything: some barrier takes a tuple,
// which is only used by element and of which several elements are used.
bool HasJointBarriers(const Module& module);

// Names stay: barriers take those of the elements. Requires: the module passed
// Verify.
void SeparateBarriers(Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_SEPARATE_BARRIERS_H_
