// What a ragged-dot costs beside its FLOPs: it is computed in blocks of rows
// that are each of one group (expand/ragged_blocks.h).
#ifndef MESHWRIGHT_COST_RAGGED_WORK_H_
#define MESHWRIGHT_COST_RAGGED_WORK_H_

#include <cstdint>
#include <optional>

#include "meshwright/cost/local_sizes.h"
#include "meshwright/hlo/instruction.h"

namespace meshwright {

struct BlockedWork {
  // How often it multiplies what its FLOPs, of a device's share, count once:
  // blocks are filled up, and a device that has the groups of its own
  // multiplies all rows that it has room for.
  double times = 1;
  // Of the operands and the result in blocks, which are copies.
  double bytes = 0;
};

// nullopt for other instructions, and if there is nothing to put into blocks.
std::optional<BlockedWork> BlockedWorkOf(const Instruction& instruction,
                                         const LocalSizes& local);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_RAGGED_WORK_H_
