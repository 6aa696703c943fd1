#include "meshwright/expand/ragged_blocks.h"

#include <algorithm>

namespace meshwright {
namespace {

// In the time of so many rows of a block an H200 copies its matrix (4 bytes for
// each element, at 200 FLOPs in the time of a byte), or stores its product in
// f32 and adds it up (12 bytes).
constexpr int64_t kRowsOfCopy = 400;
constexpr int64_t kRowsOfSum = 1200;

}  // namespace

RaggedBlocks BlocksOf(const RaggedDotNumbers& numbers,
                      absl::Span<const int64_t> lhs, int64_t groups) {
  const int64_t most = lhs[numbers.ragged];
  int64_t rows = most;
  for (const int64_t dimension : numbers.outer) {
    rows *= lhs[dimension];
    groups *= lhs[dimension];
  }
  if (rows == 0 || groups == 0) return {};
  const int64_t more = numbers.kind == RaggedDotNumbers::Ragged::kContracted
                           ? kRowsOfSum
                           : kRowsOfCopy;
  const auto in_blocks_of = [&](int64_t size) {
    // Blocks that are full, and one more for each group with a row left.
    return RaggedBlocks{size, (rows + groups * (size - 1)) / size};
  };
  const auto cost = [&](const RaggedBlocks& blocks) {
    return static_cast<double>(blocks.count) *
           static_cast<double>(blocks.rows + more);
  };
  RaggedBlocks best = in_blocks_of(most);
  for (int64_t size = 1; size < most; size *= 2) {
    const RaggedBlocks blocks = in_blocks_of(size);
    if (cost(blocks) < cost(best)) best = blocks;
  }
  return best;
}

}  // namespace meshwright
