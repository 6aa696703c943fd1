// Which values the compiler of an accelerator materialises, and which it
// recomputes in every kernel that uses them.
//
//   mean = reduce(x)                      fused: its users read x anyway
//   norm = (x - mean) * rsqrt(variance)   fused into its users
//   r2   = add(r1, dot)                   stored: five kernels use it, each
//                                         would read two arrays instead of one
//
// Reductions of rows (the minor dimensions) are fused like elementwise
// instructions into kernels that iterate over the same rows: a softmax or a
// layer norm reads its operand once.
#ifndef MESHWRIGHT_COST_STORED_VALUES_H_
#define MESHWRIGHT_COST_STORED_VALUES_H_

#include <vector>

#include "meshwright/hlo/computation.h"

namespace meshwright {

struct StoredValue {
  bool stored = false;  // It is a result of a kernel.
  bool shared = false;  // Kernels that could recompute it read it instead.
};

// By instruction; for fusible ones and row reductions only. `users` is
// Users(computation). Linear in the number of instructions.
std::vector<StoredValue> ChooseStored(
    const Computation& computation,
    const std::vector<std::vector<Instruction*>>& users);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_STORED_VALUES_H_
