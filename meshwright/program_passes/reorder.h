// Restores topological order in a rewritten computation.
#ifndef MESHWRIGHT_PROGRAM_PASSES_REORDER_H_
#define MESHWRIGHT_PROGRAM_PASSES_REORDER_H_

#include <vector>

#include "meshwright/hlo/computation.h"

namespace meshwright {

// Operands before their users, otherwise in the present order; removes what
// neither the root nor a parameter needs.
void Reorder(Computation& computation);

// Replaces uses of instruction `id` by `replacement[id]` where that is not null
// (the most recently added instructions may have no entry), then reorders.
// `root` is the previous root; its replacement becomes the root.
void Replace(Computation& computation,
             const std::vector<Instruction*>& replacement, Instruction* root);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_PASSES_REORDER_H_
