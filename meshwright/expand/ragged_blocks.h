// The blocks of rows in which a ragged-dot is computed.
//
// Groups are cut into blocks of `rows` rows, the last of each filled up. How
// many blocks that makes depends on the sizes of groups; there is room for the
// most that it can be. Large blocks are filled up with more rows, small ones
// need a matrix each more often:
//
//   32768 rows in 16 groups, [1024,8192]: 47 blocks of 1024 rows, 48128 rows
#ifndef MESHWRIGHT_EXPAND_RAGGED_BLOCKS_H_
#define MESHWRIGHT_EXPAND_RAGGED_BLOCKS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "meshwright/hlo/ragged_dot_numbers.h"

namespace meshwright {

struct RaggedBlocks {
  int64_t rows = 0;   // Of each block.
  int64_t count = 0;  // 0 without rows or groups.

  bool operator==(const RaggedBlocks&) const = default;
};

// `lhs`: the left operand's dimensions; `groups` as many as there are.
// Requires: `numbers.kind` is not kBatch.
RaggedBlocks BlocksOf(const RaggedDotNumbers& numbers,
                      absl::Span<const int64_t> lhs, int64_t groups);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPAND_RAGGED_BLOCKS_H_
