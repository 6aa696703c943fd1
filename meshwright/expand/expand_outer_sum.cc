#include <cstdint>

#include "absl/algorithm/container.h"
#include "meshwright/expand/expansions.h"
#include "meshwright/expand/row_major.h"

namespace meshwright {
namespace {

// From as many elements on XLA makes rows of what is reduced.
constexpr int64_t kRow = 32;

}  // namespace

bool ReducesOuterDimensions(const Instruction& instruction) {
  if (instruction.opcode != Opcode::kReduce ||
      instruction.operands.size() != 2 ||
      instruction.operands[0]->opcode == Opcode::kParameter ||
      IsKeptRowMajor(*instruction.operands[0])) {
    return false;  // The operand has a layout already.
  }
  const Shape& operand = instruction.operand_shape(0);
  int64_t reduced = 1;
  int kept = 0;
  bool outer = false;  // A dimension that is kept is further in.
  for (int64_t i = 0; i < operand.rank(); ++i) {
    const int64_t size = operand.dimensions[i];
    if (size == 1) continue;
    if (absl::c_linear_search(instruction.attributes->dimensions, i)) {
      reduced *= size;
    } else {
      ++kept;
      outer = outer || reduced > 1;
    }
  }
  return outer && kept >= 2 && reduced >= kRow;
}

absl::StatusOr<Instruction*> ExpandOuterReduction(
    const Instruction& instruction, LocalBuilder& builder) {
  return builder.Clone(instruction, instruction.shape,
                       {KeepRowMajor(instruction.operands[0], builder),
                        instruction.operands[1]});
}

}  // namespace meshwright
