// reduce: kept dimensions are split freely; over the reduced ones each device
// reduces its part. With a simple combiner that leaves a partial value; with
// any other (arg-max) the parts are gathered and reduced again.
#include <algorithm>

#include "meshwright/rules/families.h"

namespace meshwright {
namespace {

std::optional<Reduction> ReductionOfRoot(const Instruction* root, int64_t a,
                                         int64_t b) {
  if (root->operands.size() != 2) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Instruction* operand : root->operands) {
    if (operand->opcode != Opcode::kParameter) return std::nullopt;
    numbers.push_back(operand->attributes->parameter_number);
  }
  std::sort(numbers.begin(), numbers.end());
  if (numbers != std::vector<int64_t>{a, b}) return std::nullopt;
  switch (root->opcode) {
    case Opcode::kAdd:
      return Reduction::kSum;
    case Opcode::kMultiply:
      return Reduction::kProduct;
    case Opcode::kMaximum:
      return Reduction::kMax;
    case Opcode::kMinimum:
      return Reduction::kMin;
    case Opcode::kAnd:
      return Reduction::kAnd;
    case Opcode::kOr:
      return Reduction::kOr;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Reduction> ReductionOf(const Computation& combiner) {
  return ReductionOfRoot(combiner.root(), 0, 1);
}

std::optional<Rule> ReduceFactors(const Instruction& instruction) {
  const int32_t inputs = static_cast<int32_t>(instruction.operands.size() / 2);
  const std::optional<Reduction> reduction =
      inputs == 1 ? ReductionOf(*instruction.called[0]) : std::nullopt;
  if (!reduction.has_value()) return std::nullopt;
  const std::vector<int64_t>& reduced = instruction.attributes->dimensions;
  Rule rule = AlikeRule(instruction.operand_shape(0).dimensions, inputs, 0);
  TensorFactors result;
  for (int64_t i = 0; i < instruction.operand_shape(0).rank(); ++i) {
    const int32_t factor = rule.operands[0][i][0];
    if (std::find(reduced.begin(), reduced.end(), i) == reduced.end()) {
      result.push_back({factor});
    } else {
      rule.factors[factor].kind = FactorKind::kReduced;
      rule.factors[factor].reduction = *reduction;
    }
  }
  rule.operands.resize(2 * inputs);  // The start values are scalars.
  rule.results.assign(inputs, result);
  rule.linear = {{*reduction, {0, 1}}};
  return rule;
}

LocalValues LowerReduce(const LocalOp& op, LocalBuilder& builder) {
  const Reduction reduction = *ReductionOf(*op.instruction.called[0]);
  LocalValues operands = op.operands;
  const ElementType type = operands[0]->shape.element_type;
  Instruction* identity = builder.Identity(reduction, type);
  AxisList split;
  for (int32_t i = 0; i < static_cast<int32_t>(op.rule.factors.size()); ++i) {
    if (op.rule.factors[i].kind != FactorKind::kReduced) continue;
    operands[0] = MaskPadding(op, 0, i, operands[0], identity, builder);
    split.Append(op.axes(i));
  }
  // The start value counts once: on the first device of the split.
  if (!split.empty()) {
    operands[1] =
        builder.Select(builder.IsLeader(split), operands[1], identity);
  }
  return LowerWith(op, *op.instruction.attributes, std::move(operands),
                   builder);
}

}  // namespace meshwright
