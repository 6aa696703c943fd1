// Moves blocks of arrays within a process and between processes.
#ifndef MESHWRIGHT_CROSSING_BLOCK_MOVES_H_
#define MESHWRIGHT_CROSSING_BLOCK_MOVES_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "meshwright/crossing/block_view.h"
#include "meshwright/crossing/metered_group.h"

namespace meshwright {

struct BlockMove {
  // Processes, as ranks of the group.
  size_t from = 0;
  size_t to = 0;
  BlockView source = {};  // Empty if it is in another process.
  BlockView target = {};  // Empty if it is in another process.
};

// Performs all moves; all processes must list the moves between any two of them
// in the same order. Sends at most one message in each direction between two
// processes; contiguous blocks that make up a whole message are sent from and
// received into their place. `here` is this process; `group` is null if it is
// alone.
absl::Status MoveBlocks(absl::Span<const BlockMove> moves, size_t here,
                        MeteredGroup* group);

}  // namespace meshwright

#endif  // MESHWRIGHT_CROSSING_BLOCK_MOVES_H_
