// reduce: kept dimensions are split freely; over the reduced ones each device
// reduces its part. With a simple combiner that leaves a partial value. Several
// different ones are all-reduced here; with any other combiner (arg-max) the
// parts are gathered and reduced again.
#include <algorithm>
#include <functional>
#include <numeric>

#include "meshwright/rules/families.h"

namespace meshwright {
namespace {

// Of truth values.
std::optional<Reduction> LogicOf(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kMaximum:
    case Opcode::kOr:
      return Reduction::kOr;
    case Opcode::kMultiply:
    case Opcode::kMinimum:
    case Opcode::kAnd:
      return Reduction::kAnd;
    default:
      return std::nullopt;
  }
}

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
  const ElementType type = root->shape.element_type;
  if (type == ElementType::kPred) return LogicOf(root->opcode);
  switch (root->opcode) {
    case Opcode::kAdd:
      return Reduction::kSum;
    case Opcode::kMultiply:
      return Reduction::kProduct;
    case Opcode::kMaximum:
      if (IsComplex(type)) return std::nullopt;
      return Reduction::kMax;
    case Opcode::kMinimum:
      if (IsComplex(type)) return std::nullopt;
      return Reduction::kMin;
    default:
      return std::nullopt;
  }
}

int32_t ReduceInputs(const Instruction& reduce) {
  return static_cast<int32_t>(reduce.operands.size() / 2);
}

// One for each input, or none if the combiner is not that simple.
std::vector<Reduction> SimpleReductions(const Instruction& reduce) {
  const int32_t inputs = ReduceInputs(reduce);
  const Instruction* root = reduce.called[0]->root();
  const std::vector<const Instruction*> roots =
      root->opcode == Opcode::kTuple
          ? std::vector<const Instruction*>(root->operands.begin(),
                                            root->operands.end())
          : std::vector<const Instruction*>{root};
  std::vector<Reduction> reductions;
  for (int32_t i = 0; i < static_cast<int32_t>(roots.size()); ++i) {
    const std::optional<Reduction> reduction =
        ReductionOfRoot(roots[i], i, inputs + i);
    if (!reduction.has_value()) return {};
    reductions.push_back(*reduction);
  }
  return reductions;
}

// Whether one kind of partial value stands for all results.
bool LeavesPending(const std::vector<Reduction>& reductions) {
  return !reductions.empty() &&
         std::adjacent_find(reductions.begin(), reductions.end(),
                            std::not_equal_to<>()) == reductions.end();
}

// The axes of all reduced dimensions, in order.
AxisList SplitAxes(const LocalOp& op) {
  AxisList split;
  for (size_t i = 0; i < op.rule.factors.size(); ++i) {
    if (op.rule.factors[i].kind == FactorKind::kKept) continue;
    split.Append(op.axes(static_cast<int32_t>(i)));
  }
  return split;
}

// The inputs with padding of reduced dimensions replaced by `fills`.
void MaskInputs(const LocalOp& op, const LocalValues& fills,
                LocalValues& operands, LocalBuilder& builder) {
  for (int32_t factor = 0;
       factor < static_cast<int32_t>(op.rule.factors.size()); ++factor) {
    if (op.rule.factors[factor].kind == FactorKind::kKept) continue;
    for (int32_t i = 0; i < static_cast<int32_t>(fills.size()); ++i) {
      operands[i] = MaskPadding(op, i, factor, operands[i], fills[i], builder);
    }
  }
}

// Each device's partial results, gathered and reduced again. The start values
// must be identities, as compilers assume.
LocalValues LowerAnyReduce(const LocalOp& op, const AxisList& split,
                           LocalBuilder& builder) {
  const int32_t inputs = ReduceInputs(op.instruction);
  const Attributes& attributes = *op.instruction.attributes;
  LocalValues operands = op.operands;
  const LocalValues starts(operands.begin() + inputs, operands.end());
  MaskInputs(op, starts, operands, builder);
  operands = LowerWith(op, attributes, std::move(operands), builder);
  if (split.empty()) return operands;
  for (Instruction*& partial : operands) {
    std::vector<int64_t> row = partial->shape.dimensions;
    row.insert(row.begin(), 1);
    partial = builder.AllGather(builder.Reshape(partial, row), split, 0);
  }
  operands.insert(operands.end(), starts.begin(), starts.end());
  Attributes again = attributes;
  again.dimensions = {0};
  return LowerWith(op, std::move(again), std::move(operands), builder);
}

LocalValues LowerSimpleReduce(const LocalOp& op, const AxisList& split,
                              const std::vector<Reduction>& reductions,
                              LocalBuilder& builder) {
  LocalValues operands = op.operands;
  LocalValues identities;
  for (size_t i = 0; i < reductions.size(); ++i) {
    identities.push_back(
        builder.Identity(reductions[i], operands[i]->shape.element_type));
  }
  MaskInputs(op, identities, operands, builder);
  std::copy(identities.begin(), identities.end(),
            operands.begin() + ReduceInputs(op.instruction));
  LocalValues results =
      LowerWith(op, *op.instruction.attributes, std::move(operands), builder);
  for (size_t i = 0; i < results.size(); ++i) {
    const size_t start = reductions.size() + i;
    if (LocalBuilder::IsIdentity(*op.instruction.operands[start],
                                 reductions[i])) {
      continue;
    }
    // The start value counts once: on the first device of the split. Not
    // within the reduce itself, where compilers expect an identity.
    results[i] = builder.Combine(
        reductions[i], results[i],
        builder.Broadcast(builder.Select(builder.IsLeader(split),
                                         op.operands[start], identities[i]),
                          results[i]->shape.dimensions));
  }
  if (LeavesPending(reductions)) return results;
  for (size_t i = 0; i < results.size(); ++i) {
    results[i] = builder.AllReduce(results[i], reductions[i], split);
  }
  return results;
}

}  // namespace

std::optional<Reduction> ReductionOf(const Computation& combiner) {
  const Instruction* root = combiner.root();
  if (root->opcode != Opcode::kTuple) return ReductionOfRoot(root, 0, 1);
  // Several results, each combined from its own pair of parameters.
  const int64_t count = static_cast<int64_t>(root->operands.size());
  std::optional<Reduction> reduction;
  for (int64_t i = 0; i < count; ++i) {
    const std::optional<Reduction> one =
        ReductionOfRoot(root->operands[i], i, count + i);
    if (!one.has_value() || (i > 0 && one != reduction)) return std::nullopt;
    reduction = one;
  }
  return reduction;
}

std::optional<Rule> ReduceFactors(const Instruction& instruction) {
  const int32_t inputs = ReduceInputs(instruction);
  const std::vector<Reduction> reductions = SimpleReductions(instruction);
  const bool pends = LeavesPending(reductions);
  const std::vector<int64_t>& reduced = instruction.attributes->dimensions;
  Rule rule = PointwiseRule(instruction.operand_shape(0).dimensions, inputs, 0);
  TensorFactors result;
  for (int64_t i = 0; i < instruction.operand_shape(0).rank(); ++i) {
    const int32_t number = rule.operands[0][i][0];
    Factor& factor = rule.factors[number];
    if (std::find(reduced.begin(), reduced.end(), i) == reduced.end()) {
      result.push_back({number});
    } else if (pends) {
      factor.kind = FactorKind::kReduced;
      factor.reduction = reductions[0];
    } else {
      factor.kind = FactorKind::kExchanged;
    }
  }
  rule.operands.resize(2 * inputs);  // The start values are scalars.
  rule.results.assign(inputs, result);
  if (pends) {
    Linear& linear = rule.linear.emplace_back();
    linear.reduction = reductions[0];
    linear.operands.resize(2 * inputs);
    std::iota(linear.operands.begin(), linear.operands.end(), 0);
  }
  return rule;
}

LocalValues LowerReduce(const LocalOp& op, LocalBuilder& builder) {
  const std::vector<Reduction> reductions = SimpleReductions(op.instruction);
  const AxisList split = SplitAxes(op);
  if (reductions.empty()) return LowerAnyReduce(op, split, builder);
  if (split.empty()) return LowerUnchanged(op, builder);
  return LowerSimpleReduce(op, split, reductions, builder);
}

}  // namespace meshwright
