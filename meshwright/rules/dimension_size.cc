// get-dimension-size of a static dimension: the size in the whole program.
#include "meshwright/rules/families.h"

namespace meshwright {

std::optional<Rule> GetDimensionSizeFactors(const Instruction& instruction) {
  if (!instruction.operand_shape(0).dynamic_dimensions.empty()) {
    return std::nullopt;
  }
  // Nothing is exchanged: every device knows the answer.
  Rule rule = PointwiseRule(instruction.operand_shape(0).dimensions, 1, 0);
  for (Factor& factor : rule.factors) factor.kind = FactorKind::kExchanged;
  rule.results.emplace_back();
  return rule;
}

LocalValues LowerGetDimensionSize(const LocalOp& op, LocalBuilder& builder) {
  const int64_t dimension = op.instruction.attributes->dimensions[0];
  const int64_t size = op.instruction.operand_shape(0).dimensions[dimension];
  return {builder.Constant(op.instruction.shape.element_type,
                           static_cast<double>(size))};
}

}  // namespace meshwright
