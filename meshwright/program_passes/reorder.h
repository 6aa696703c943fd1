// Puts a rewritten computation in order again.
#ifndef MESHWRIGHT_PROGRAM_PASSES_REORDER_H_
#define MESHWRIGHT_PROGRAM_PASSES_REORDER_H_

#include <vector>

#include "meshwright/hlo/computation.h"

namespace meshwright {

// Operands before their users, otherwise in the present order; what neither
// the root nor a parameter needs is dropped.
void Reorder(Computation& computation);

// Instructions use `replacement[id]` in place of instruction `id` where it is
// not null (those added last may have none); then reorders. `root` is what was
// the root before, and its replacement becomes the root.
void Replace(Computation& computation,
             const std::vector<Instruction*>& replacement, Instruction* root);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_PASSES_REORDER_H_
