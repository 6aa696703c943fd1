// Which rows of a ragged-dot are in which block.
#ifndef MESHWRIGHT_EXPAND_RAGGED_LAYOUT_H_
#define MESHWRIGHT_EXPAND_RAGGED_LAYOUT_H_

#include <cstdint>

#include "meshwright/expand/ragged_blocks.h"
#include "meshwright/hlo/ragged_dot_numbers.h"
#include "meshwright/program/local_builder.h"

namespace meshwright {

// Arrays of s32 and pred. Rows and groups are numbered along the outer
// dimensions, too.
struct RowLayout {
  int64_t groups = 0;
  Instruction* group = nullptr;   // [blocks]: whose rows it has.
  Instruction* rows = nullptr;    // [blocks, size]: those rows,
  Instruction* exists = nullptr;  // and whether there are so many.
  // [rows], for kFree: where a row is in all blocks together, and whether it is
  // in a group at all.
  Instruction* place = nullptr;
  Instruction* placed = nullptr;
};

RowLayout LayOutRows(const RaggedDotNumbers& numbers, const Shape& lhs,
                     Instruction* sizes, const RaggedBlocks& blocks,
                     LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPAND_RAGGED_LAYOUT_H_
