// Memory that a kernel takes while it runs, beside what it reads and returns.
//
// XLA asks libraries for it when a program is compiled: in a module, the
// workspace of a call is a result of no elements, or there is none.
//
//   cuDNN's attention, backward   the sums of its rows, and gradients of its
//                                 queries in f32; of keys and values for each
//                                 query head, where heads share them
//   large contractions            32 MiB: cuBLAS's
//   ragged-dot                    its rows and matrices in blocks
#ifndef MESHWRIGHT_COST_WORKSPACES_H_
#define MESHWRIGHT_COST_WORKSPACES_H_

#include <cstdint>

#include "meshwright/cost/local_sizes.h"
#include "meshwright/hlo/instruction.h"

namespace meshwright {

// Bytes on an accelerator; 0 for what needs none.
int64_t WorkspaceBytes(const Instruction& instruction, const LocalSizes& local);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_WORKSPACES_H_
