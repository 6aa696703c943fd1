// The dimension numbers of a ragged-dot.
//
// One dimension of the left operand is ragged: its elements belong to
// consecutive groups, whose sizes are the third operand. Depending on which
// dimension it is:
//
//   kFree        [b,m,k] [g,b,k,n] [..,g] -> [b,m,n]    rows have their matrix
//   kContracted  [b,m,k] [b,k,n]   [..,g] -> [g,b,m,n]  a product per group
//   kBatch       [b,m,k] [b,k,n]   [..,g] -> [b,m,n]    as without groups
//
// Sizes may differ along the dimensions before the ragged one: `[b,x,g]`.
#ifndef MESHWRIGHT_HLO_RAGGED_DOT_NUMBERS_H_
#define MESHWRIGHT_HLO_RAGGED_DOT_NUMBERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/instruction.h"

namespace meshwright {

struct RaggedDotNumbers {
  enum class Ragged { kFree, kContracted, kBatch };

  DotDimensionNumbers dot;
  Ragged kind = Ragged::kFree;
  int64_t ragged = 0;      // Dimension of the left operand.
  int64_t rhs_group = -1;  // Of the right one; none but for kFree.
  // Dimensions of the left operand that the sizes have before the groups;
  // none if all share them.
  std::vector<int64_t> outer;
  std::vector<int64_t> lhs_free;  // The ragged one among them.
  std::vector<int64_t> rhs_free;  // Without the groups.
};

// From the uninterpreted fields of an instruction. kInvalidArgument if they are
// missing, or the operands do not fit them.
absl::StatusOr<RaggedDotNumbers> RaggedDotNumbersOf(
    const Instruction& instruction);

// Writes the dimensions of `numbers` that an instruction has: `dot`, `ragged`
// and `rhs_group`.
void SetRaggedDotNumbers(const RaggedDotNumbers& numbers,
                         Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_RAGGED_DOT_NUMBERS_H_
