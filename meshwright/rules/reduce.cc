// reduce: kept dimensions are split freely; over the reduced ones each device
// reduces its part. With a simple combiner that leaves a partial value. Several
// different ones are all-reduced here; combiners that choose among their
// arguments (arg-max) are gathered and reduced again.
#include <algorithm>
#include <functional>

#include "meshwright/rules/families.h"
#include "meshwright/rules/scalar_constant.h"

namespace meshwright {
namespace {

// The parameter numbers of a combiner's two values of input `index`.
struct Sides {
  int64_t a = 0;
  int64_t b = 0;
};

std::optional<Reduction> ReductionOfRoot(const Instruction* root, Sides sides) {
  if (root->operands.size() != 2) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const Instruction* operand : root->operands) {
    if (operand->opcode != Opcode::kParameter) return std::nullopt;
    numbers.push_back(operand->attributes->parameter_number);
  }
  std::sort(numbers.begin(), numbers.end());
  if (numbers != std::vector<int64_t>{sides.a, sides.b}) return std::nullopt;
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

// Whether the value is always one of the two arguments: f(x, x) = x, so that a
// start value may be used any number of times.
bool IsChoice(const Instruction* value, Sides sides) {
  switch (value->opcode) {
    case Opcode::kParameter: {
      const int64_t number = value->attributes->parameter_number;
      return number == sides.a || number == sides.b;
    }
    case Opcode::kSelect:
      return IsChoice(value->operands[1], sides) &&
             IsChoice(value->operands[2], sides);
    case Opcode::kMaximum:
    case Opcode::kMinimum:
      return IsChoice(value->operands[0], sides) &&
             IsChoice(value->operands[1], sides);
    default:
      return false;
  }
}

// What a combiner of several values computes for each of them.
std::vector<const Instruction*> RootsOf(const Computation& combiner,
                                        int64_t inputs) {
  const Instruction* root = combiner.root();
  if (root->opcode == Opcode::kTuple) {
    return {root->operands.begin(), root->operands.end()};
  }
  if (inputs == 1) return {root};
  return {};
}

// One per input, or none if the combiner is not that simple.
std::vector<Reduction> ReductionsOf(const Instruction& reduce) {
  const int64_t inputs = static_cast<int64_t>(reduce.operands.size() / 2);
  std::vector<Reduction> reductions;
  for (const Instruction* root : RootsOf(*reduce.called[0], inputs)) {
    const int64_t index = static_cast<int64_t>(reductions.size());
    const std::optional<Reduction> reduction =
        ReductionOfRoot(root, {index, inputs + index});
    if (!reduction.has_value()) return {};
    reductions.push_back(*reduction);
  }
  return reductions;
}

bool ChoosesAll(const Instruction& reduce) {
  const int64_t inputs = static_cast<int64_t>(reduce.operands.size() / 2);
  const std::vector<const Instruction*> roots =
      RootsOf(*reduce.called[0], inputs);
  for (size_t i = 0; i < roots.size(); ++i) {
    const int64_t index = static_cast<int64_t>(i);
    if (!IsChoice(roots[i], {index, inputs + index})) return false;
  }
  return !roots.empty();
}

bool AllEqual(const std::vector<Reduction>& reductions) {
  return std::adjacent_find(reductions.begin(), reductions.end(),
                            std::not_equal_to<>()) == reductions.end();
}

// The axes of the reduced dimensions, and padding replaced by `fills`.
AxisList MaskReduced(const LocalOp& op, const LocalValues& fills,
                     LocalValues& operands, LocalBuilder& builder) {
  AxisList split;
  for (const int64_t dimension : op.instruction.attributes->dimensions) {
    const int32_t factor = op.rule.operands[0][dimension][0];
    split.Append(op.axes(factor));
    for (int32_t i = 0; i < static_cast<int32_t>(fills.size()); ++i) {
      operands[i] = MaskPadding(op, i, factor, operands[i], fills[i], builder);
    }
  }
  return split;
}

LocalValues LowerSimple(const LocalOp& op,
                        const std::vector<Reduction>& reductions,
                        LocalBuilder& builder) {
  LocalValues operands = op.operands;
  LocalValues identities;
  for (size_t i = 0; i < reductions.size(); ++i) {
    identities.push_back(
        builder.Identity(reductions[i], operands[i]->shape.element_type));
  }
  const AxisList split = MaskReduced(op, identities, operands, builder);
  // A start value that matters counts once, on the first device of the split.
  // Folded in afterwards: XLA drops it where it reduces a dimension of size 1.
  LocalValues starts(reductions.size(), nullptr);
  for (size_t i = 0; i < reductions.size() && !split.empty(); ++i) {
    Instruction*& start = operands[reductions.size() + i];
    if (IsIdentity(start, reductions[i])) continue;
    starts[i] = builder.Select(builder.IsLeader(split), start, identities[i]);
    start = identities[i];
  }
  LocalValues results =
      LowerWith(op, *op.instruction.attributes, std::move(operands), builder);
  for (size_t i = 0; i < results.size(); ++i) {
    if (starts[i] == nullptr) continue;
    results[i] = builder.Combine(
        reductions[i],
        builder.Broadcast(starts[i], results[i]->shape.dimensions), results[i]);
  }
  if (AllEqual(reductions)) return results;
  for (size_t i = 0; i < results.size(); ++i) {
    results[i] = builder.AllReduce(results[i], reductions[i], split);
  }
  return results;
}

// Reduces the parts of all devices, side by side in dimension 0.
LocalValues LowerChoice(const LocalOp& op, LocalBuilder& builder) {
  LocalValues operands = op.operands;
  const size_t inputs = operands.size() / 2;
  const LocalValues starts(operands.begin() + static_cast<int64_t>(inputs),
                           operands.end());
  const AxisList split = MaskReduced(op, starts, operands, builder);
  LocalValues parts =
      LowerWith(op, *op.instruction.attributes, operands, builder);
  if (split.empty()) return parts;
  for (size_t i = 0; i < inputs; ++i) {
    std::vector<int64_t> dimensions = parts[i]->shape.dimensions;
    dimensions.insert(dimensions.begin(), 1);
    operands[i] =
        builder.AllGather(builder.Reshape(parts[i], dimensions), split, 0);
  }
  Attributes attributes = *op.instruction.attributes;
  attributes.dimensions = {0};
  return LowerWith(op, std::move(attributes), std::move(operands), builder);
}

}  // namespace

std::optional<Reduction> ReductionOf(const Computation& combiner) {
  return ReductionOfRoot(combiner.root(), {0, 1});
}

std::optional<Rule> ReduceFactors(const Instruction& instruction) {
  const int32_t inputs = static_cast<int32_t>(instruction.operands.size() / 2);
  const std::vector<Reduction> reductions = ReductionsOf(instruction);
  const bool pends = !reductions.empty() && AllEqual(reductions);
  const FactorKind kind = pends ? FactorKind::kReduced
                          : !reductions.empty() || ChoosesAll(instruction)
                              ? FactorKind::kExchanged
                              : FactorKind::kWhole;
  const std::vector<int64_t>& reduced = instruction.attributes->dimensions;
  Rule rule = AlikeRule(instruction.operand_shape(0).dimensions, inputs, 0);
  TensorFactors result;
  for (int64_t i = 0; i < instruction.operand_shape(0).rank(); ++i) {
    const int32_t factor = rule.operands[0][i][0];
    if (std::find(reduced.begin(), reduced.end(), i) == reduced.end()) {
      result.push_back({factor});
    } else {
      rule.factors[factor].kind = kind;
      if (pends) rule.factors[factor].reduction = reductions[0];
    }
  }
  rule.operands.resize(2 * inputs);  // The start values are scalars.
  rule.results.assign(inputs, result);
  if (pends) {
    rule.linear = {{reductions[0], {}}};
    for (int32_t i = 0; i < 2 * inputs; ++i) {
      rule.linear[0].operands.push_back(i);
    }
  }
  return rule;
}

LocalValues LowerReduce(const LocalOp& op, LocalBuilder& builder) {
  const std::vector<Reduction> reductions = ReductionsOf(op.instruction);
  if (!reductions.empty()) return LowerSimple(op, reductions, builder);
  return LowerChoice(op, builder);
}

}  // namespace meshwright
