// Constraints on the operands and results of an opaque callee.
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/shape_checks.h"
#include "meshwright/hlo/verify_rules.h"

namespace meshwright {
namespace {

absl::Status CheckOperandLayouts(const Instruction& instruction) {
  const Attributes& attributes = *instruction.attributes;
  if (instruction.opcode != Opcode::kCustomCall ||
      !attributes.constrain_layout) {
    return absl::OkStatus();
  }
  const std::vector<Shape>& shapes = attributes.operand_shapes_with_layout;
  if (shapes.size() != instruction.operands.size()) {
    return Bad("wrong number of operand layouts; expected ",
               instruction.operands.size(), ", got ", shapes.size());
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!Compatible(shapes[i], instruction.operand_shape(i))) {
      return Bad("layout ", i, " has the wrong shape; expected ",
                 Describe(instruction.operand_shape(i)), ", got ",
                 Describe(shapes[i]));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAliasing(const Instruction& instruction,
                           const OutputOperandAliasing& alias) {
  const Shape* output = SubShape(instruction.shape, alias.output_shape_index);
  if (output == nullptr) {
    return Bad("the result has no element ",
               Describe(alias.output_shape_index));
  }
  if (alias.operand_index < 0 ||
      alias.operand_index >= std::ssize(instruction.operands)) {
    return Bad("operand index out of range; expected 0 <= i < ",
               instruction.operands.size(), ", got ", alias.operand_index);
  }
  const Shape* operand =
      SubShape(instruction.operand_shape(alias.operand_index),
               alias.operand_shape_index);
  if (operand == nullptr) {
    return Bad("operand ", alias.operand_index, " has no element ",
               Describe(alias.operand_shape_index));
  }
  if (instruction.opcode == Opcode::kCustomCall &&
      !Compatible(*output, *operand)) {
    return Bad("output and operand ", alias.operand_index,
               " differ in shape; expected ", Describe(*output), ", got ",
               Describe(*operand));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckCustomCall(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckOperandLayouts(instruction));
  for (const OutputOperandAliasing& alias :
       instruction.attributes->output_operand_aliasing) {
    MW_RETURN_IF_ERROR(
        Annotate(CheckAliasing(instruction, alias), "output_operand_aliasing"));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
