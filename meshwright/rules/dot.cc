// dot: batch and free dimensions are kept, contracting ones summed.
#include "meshwright/rules/families.h"

namespace meshwright {
namespace {

constexpr int32_t kNone = -1;

// A factor for each dimension that has none yet.
void FillFree(const Shape& shape, std::vector<int32_t>& factors, Rule& rule) {
  for (size_t i = 0; i < factors.size(); ++i) {
    if (factors[i] == kNone) factors[i] = rule.AddFactor(shape.dimensions[i]);
  }
}

}  // namespace

TensorFactors AsTensor(const std::vector<int32_t>& factors) {
  TensorFactors tensor;
  for (const int32_t factor : factors) tensor.push_back({factor});
  return tensor;
}

Rule DotRule(const DotDimensionNumbers& dot, const Shape& lhs_shape,
             const Shape& rhs_shape) {
  Rule rule;
  std::vector<int32_t> lhs(lhs_shape.rank(), kNone);
  std::vector<int32_t> rhs(rhs_shape.rank(), kNone);
  TensorFactors result;
  for (size_t i = 0; i < dot.lhs_batch.size(); ++i) {
    const int32_t factor =
        rule.AddFactor(lhs_shape.dimensions[dot.lhs_batch[i]]);
    lhs[dot.lhs_batch[i]] = rhs[dot.rhs_batch[i]] = factor;
    result.push_back({factor});
  }
  for (size_t i = 0; i < dot.lhs_contracting.size(); ++i) {
    const int32_t factor = rule.AddFactor(
        lhs_shape.dimensions[dot.lhs_contracting[i]], FactorKind::kReduced);
    lhs[dot.lhs_contracting[i]] = rhs[dot.rhs_contracting[i]] = factor;
  }
  const auto append_free = [&](const Shape& shape,
                               std::vector<int32_t>& factors) {
    std::vector<bool> is_free(factors.size());
    for (size_t i = 0; i < factors.size(); ++i) {
      is_free[i] = factors[i] == kNone;
    }
    FillFree(shape, factors, rule);
    for (size_t i = 0; i < factors.size(); ++i) {
      if (is_free[i]) result.push_back({factors[i]});
    }
  };
  append_free(lhs_shape, lhs);
  append_free(rhs_shape, rhs);
  for (Factor& factor : rule.factors) {
    factor.may_pad = true;
    factor.may_divide = true;
  }
  rule.operands = {AsTensor(lhs), AsTensor(rhs)};
  rule.results = {std::move(result)};
  rule.linear = {{Reduction::kSum, {0}}, {Reduction::kSum, {1}}};
  return rule;
}

std::optional<Rule> DotFactors(const Instruction& instruction) {
  if (instruction.operands.size() != 2 ||
      !instruction.attributes->dot.has_value()) {
    return std::nullopt;
  }
  return DotRule(*instruction.attributes->dot, instruction.operand_shape(0),
                 instruction.operand_shape(1));
}

LocalValues MaskReduced(const LocalOp& op, LocalBuilder& builder) {
  LocalValues operands = op.operands;
  for (int32_t i = 0; i < static_cast<int32_t>(op.rule.factors.size()); ++i) {
    if (op.rule.factors[i].kind != FactorKind::kReduced) continue;
    for (int32_t side = 0; side < 2; ++side) {
      Instruction* zero =
          builder.Constant(operands[side]->shape.element_type, 0);
      operands[side] = MaskPadding(op, side, i, operands[side], zero, builder);
    }
  }
  return operands;
}

LocalValues LowerDot(const LocalOp& op, LocalBuilder& builder) {
  return LowerWith(op, *op.instruction.attributes, MaskReduced(op, builder),
                   builder);
}

}  // namespace meshwright
