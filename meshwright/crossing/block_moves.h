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
  BlockView source = {};  // Nothing if it is elsewhere.
  BlockView target = {};  // Likewise.
};

// Does all of them; all processes list those that concern each other in the
// same order. Between two processes goes at most one message each way; blocks
// that are a whole message and lie side by side are sent from and received
// where they are. `here` is this process; no group if it is alone.
absl::Status MoveBlocks(absl::Span<const BlockMove> moves, size_t here,
                        MeteredGroup* group);

}  // namespace meshwright

#endif  // MESHWRIGHT_CROSSING_BLOCK_MOVES_H_
