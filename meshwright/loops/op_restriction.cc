#include "meshwright/loops/op_restriction.h"

#include <algorithm>
#include <utility>

#include "meshwright/rules/lowering.h"
#include "meshwright/rules/rule_table.h"

namespace meshwright {
namespace {

std::optional<Rule> RuleOfParts(const Instruction& instruction) {
  // Ops that are lowered unchanged have no sizes in their attributes.
  if (EntryFor(instruction.opcode).lower != &LowerUnchanged &&
      instruction.opcode != Opcode::kReduce) {
    return std::nullopt;
  }
  if (!instruction.shape.IsArray() ||
      !std::ranges::all_of(instruction.operands,
                           [](const Instruction* operand) {
                             return operand->shape.IsArray();
                           })) {
    return std::nullopt;
  }
  Rule rule = RuleFor(instruction);
  if (rule.is_fallback) return std::nullopt;
  return rule;
}

// The number of elements of a dimension per step along its first factor.
int64_t StrideOf(const Rule& rule, const DimFactors& factors) {
  int64_t stride = 1;
  for (size_t i = 1; i < factors.size(); ++i) {
    stride *= rule.factors[factors[i]].size;
  }
  return stride;
}

}  // namespace

std::optional<OpRestriction> OpRestriction::Make(Rule rule,
                                                 const TensorFactors& tensor,
                                                 const DimensionSplit& split) {
  DimFactors factors = tensor[split.dimension];
  while (factors.size() > 1 && rule.factors[factors[0]].size == 1) {
    factors.erase(factors.begin());
  }
  if (factors.empty()) return std::nullopt;
  const FactorKind kind = rule.factors[factors[0]].kind;
  if (kind != FactorKind::kKept && kind != FactorKind::kReduced) {
    return std::nullopt;
  }
  const int64_t stride = StrideOf(rule, factors);
  std::vector<int64_t> units;
  for (const int64_t bound : split.bounds) {
    if (bound % stride != 0) return std::nullopt;
    units.push_back(bound / stride);
  }
  const bool is_reduced = kind == FactorKind::kReduced;
  OpRestriction made(std::move(rule), factors[0], std::move(units));
  if (!is_reduced && !made.Result().has_value()) return std::nullopt;
  // Every operand that has the factor must have it as a contiguous range.
  for (size_t i = 0; i < made.rule_.operands.size(); ++i) {
    if (made.Operand(i).has_value()) continue;
    for (const DimFactors& dim : made.rule_.operands[i]) {
      if (std::ranges::find(dim, made.factor_) != dim.end()) {
        return std::nullopt;
      }
    }
  }
  return made;
}

std::optional<OpRestriction> OpRestriction::OfOperand(
    const Instruction& instruction, size_t operand,
    const DimensionSplit& split) {
  std::optional<Rule> rule = RuleOfParts(instruction);
  if (!rule.has_value()) return std::nullopt;
  const TensorFactors tensor = rule->operands[operand];
  return Make(*std::move(rule), tensor, split);
}

std::optional<OpRestriction> OpRestriction::OfResult(
    const Instruction& instruction, const DimensionSplit& split) {
  std::optional<Rule> rule = RuleOfParts(instruction);
  if (!rule.has_value()) return std::nullopt;
  const TensorFactors tensor = rule->results[0];
  return Make(*std::move(rule), tensor, split);
}

std::optional<DimensionSplit> OpRestriction::SplitOf(
    const TensorFactors& tensor) const {
  for (size_t d = 0; d < tensor.size(); ++d) {
    DimFactors factors = tensor[d];
    while (factors.size() > 1 && rule_.factors[factors[0]].size == 1) {
      factors.erase(factors.begin());
    }
    if (factors.empty() || factors[0] != factor_) continue;
    const int64_t stride = StrideOf(rule_, factors);
    DimensionSplit split{.dimension = static_cast<int64_t>(d)};
    for (const int64_t unit : units_) split.bounds.push_back(unit * stride);
    return split;
  }
  return std::nullopt;
}

std::optional<DimensionSplit> OpRestriction::Operand(size_t index) const {
  return SplitOf(rule_.operands[index]);
}

std::optional<DimensionSplit> OpRestriction::Result() const {
  return SplitOf(rule_.results[0]);
}

}  // namespace meshwright
