// Products that are written the way they are wanted.
//
//   transpose(dot(x f32[8,64], y f32[8,32]) f32[64,32], {1,0})
//   becomes dot(y, x) f32[32,64]
//
// Frontends write the gradient of a weight as the transpose of a product.
// Compilers write the product transposed, until a collective lies between the
// two: then they would lay out the optimizer's state transposed as well, and
// copy it to and fro.
#ifndef MESHWRIGHT_HLO_FOLD_TRANSPOSES_H_
#define MESHWRIGHT_HLO_FOLD_TRANSPOSES_H_

#include "meshwright/hlo/module.h"

namespace meshwright {

// Where a transpose is all that uses a dot, and exchanges the dimensions of its
// operands. Requires: passed Verify.
void FoldTransposes(Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_FOLD_TRANSPOSES_H_
