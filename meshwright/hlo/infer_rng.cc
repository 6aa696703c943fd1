// Random numbers.
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/infer_rules.h"
#include "meshwright/hlo/shape_checks.h"

namespace meshwright {

absl::StatusOr<Inferred> InferRng(const Instruction& instruction) {
  const Shape& shape = instruction.shape;
  if (!shape.IsArray()) {
    return Bad("the result must be an array; got ", Describe(shape));
  }
  const int32_t distribution = instruction.attributes->distribution;
  if (distribution != 1 && distribution != 2) {
    return Bad("unknown distribution ", distribution);
  }
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    MW_RETURN_IF_ERROR(CheckScalar(instruction, i));
    const Shape& parameter = instruction.operand_shape(i);
    if (parameter.element_type != shape.element_type) {
      return Bad("operand ", i, " has the wrong type; expected ",
                 Name(shape.element_type), ", got ", Describe(parameter));
    }
  }
  return Inferred::Own();
}

absl::StatusOr<Inferred> InferRngBitGenerator(const Instruction& instruction) {
  MW_RETURN_IF_ERROR(CheckArray(instruction, 0));
  const int32_t algorithm = instruction.attributes->rng_algorithm;
  if (algorithm < 0 || algorithm > 2) {
    return Bad("unknown algorithm ", algorithm);
  }
  const Shape& state = instruction.operand_shape(0);
  if (!IsUnsignedInteger(state.element_type)) {
    return Bad("the state must be unsigned; got ", Describe(state));
  }
  const Shape& shape = instruction.shape;
  if (shape.IsArray()) return Inferred::Own();
  if (!shape.IsTuple() || shape.tuple_shapes.size() != 2 ||
      !Compatible(shape.tuple_shapes[0], state) ||
      !shape.tuple_shapes[1].IsArray()) {
    return Bad("wrong result shape; expected a tuple of ", Describe(state),
               " and an array, got ", Describe(shape));
  }
  return Inferred::Own();
}

absl::StatusOr<Inferred> InferRngState(const Instruction&) {
  return Inferred::Array(ElementType::kU64, {2});
}

}  // namespace meshwright
