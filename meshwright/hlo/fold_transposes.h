// Folds transposes of dots into the dots.
//
//   transpose(dot(x f32[8,64], y f32[8,32]) f32[64,32], {1,0})
//   becomes dot(y, x) f32[32,64]
//
// Frontends write the gradient of a weight as the transpose of a dot. Compilers
// fold it, unless a collective is between the two: then they would give the
// optimizer's state the transposed layout as well, and copy it back and forth.
#ifndef MESHWRIGHT_HLO_FOLD_TRANSPOSES_H_
#define MESHWRIGHT_HLO_FOLD_TRANSPOSES_H_

#include "meshwright/hlo/module.h"

namespace meshwright {

// Applies where the transpose is the dot's only user, and exchanges its
// operands' dimensions. Requires: `module` passed Verify.
void FoldTransposes(Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_FOLD_TRANSPOSES_H_
