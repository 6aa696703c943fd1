#include <utility>

#include "meshwright/expand/expansions.h"
#include "meshwright/rules/families.h"

namespace meshwright {

bool AddsUpdates(const Instruction& instruction) {
  return instruction.opcode == Opcode::kScatter &&
         instruction.operands.size() == 3 &&
         !instruction.attributes->unique_indices &&
         ReductionOf(*instruction.called[0]) == Reduction::kSum;
}

bool AddsHalves(const Instruction& instruction) {
  const ElementType type = instruction.shape.element_type;
  return (type == ElementType::kBF16 || type == ElementType::kF16) &&
         AddsUpdates(instruction);
}

absl::StatusOr<Instruction*> ExpandSumOfHalves(const Instruction& instruction,
                                               LocalBuilder& builder) {
  const auto& operands = instruction.operands;
  Instruction* sum =
      builder.Add(Opcode::kScatter,
                  Shape::Array(ElementType::kF32, instruction.shape.dimensions),
                  {builder.Convert(ElementType::kF32, operands[0]), operands[1],
                   builder.Convert(ElementType::kF32, operands[2])},
                  *instruction.attributes);
  sum->called = {
      builder.program().Combiner(Reduction::kSum, ElementType::kF32)};
  return builder.Convert(instruction.shape.element_type, sum);
}

}  // namespace meshwright
