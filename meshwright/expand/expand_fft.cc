#include <utility>

#include "meshwright/expand/expansions.h"

namespace meshwright {

absl::StatusOr<Instruction*> ExpandFft(const Instruction& instruction,
                                       LocalBuilder& builder) {
  const Shape shape = Shape::Array(instruction.shape.element_type,
                                   instruction.shape.dimensions);
  Instruction* transformed =
      builder.Clone(instruction, shape, instruction.operands);
  Attributes attributes;
  attributes.custom_call_target = "LayoutConstraint";
  attributes.constrain_layout = true;
  attributes.operand_shapes_with_layout = {shape};
  return builder.Add(Opcode::kCustomCall, shape, {transformed},
                     std::move(attributes));
}

}  // namespace meshwright
