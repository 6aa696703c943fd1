// Which values the compiler of an accelerator stores, and which it computes
// again in every kernel that uses them.
//
//   mean = reduce(x)                      fused: whoever needs it reads x
//   anyway norm = (x - mean) * rsqrt(variance)   fused into what uses it r2   =
//   add(r1, dot)                   stored: five kernels use it, each
//                                         would read two arrays for one
//
// Reductions of rows (the minor dimensions) are fused like elementwise
// instructions into kernels that go through the same rows: a softmax or a layer
// norm reads its operand once.
#ifndef MESHWRIGHT_COST_STORED_VALUES_H_
#define MESHWRIGHT_COST_STORED_VALUES_H_

#include <vector>

#include "meshwright/hlo/computation.h"

namespace meshwright {

struct StoredValue {
  bool stored = false;  // It is a result of a kernel.
  bool shared = false;  // Those that could compute it again read it instead.
};

// By instruction; of fusible ones and reductions of rows only. `users` is
// Users(computation). Time linear in the instructions.
std::vector<StoredValue> ChooseStored(
    const Computation& computation,
    const std::vector<std::vector<Instruction*>>& users);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_STORED_VALUES_H_
