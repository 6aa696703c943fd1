// reduce-window: dimensions without a window are split freely. Along the others
// a device fetches what its windows read (nothing, when windows do not cross
// shards); running sums are local ones plus the totals of the shards before.
#include "meshwright/rules/exchange.h"
#include "meshwright/rules/families.h"
#include "meshwright/rules/windows.h"

namespace meshwright {
namespace {

bool IsTrivial(const WindowDimension& window) {
  return window.size == 1 && window.stride == 1 && window.padding_low == 0 &&
         window.padding_high == 0 && window.base_dilation == 1;
}

enum class Running { kNone, kForward, kBackward };

// Each result is everything up to its place, or from it on.
Running RunningOf(const Instruction& instruction, int64_t dimension) {
  const WindowDimension& window =
      instruction.attributes->window->dimensions[dimension];
  const int64_t size = instruction.operand_shape(0).dimensions[dimension];
  if (instruction.operands.size() != 2 || size < 2 || window.size != size ||
      window.stride != 1 || window.window_dilation != 1 ||
      window.base_dilation != 1) {
    return Running::kNone;
  }
  const std::optional<Reduction> reduction =
      ReductionOf(*instruction.called[0]);
  if (!reduction.has_value() ||
      !LocalBuilder::IsIdentity(*instruction.operands[1], *reduction)) {
    return Running::kNone;
  }
  if (window.padding_low == size - 1 && window.padding_high == 0) {
    return Running::kForward;
  }
  if (window.padding_low == 0 && window.padding_high == size - 1) {
    return Running::kBackward;
  }
  return Running::kNone;
}

FactorKind KindOf(const WindowDimension& window, int64_t base_size,
                  int64_t places) {
  const bool stays = IsAligned(window, base_size, places) &&
                     window.padding_low <= 0 &&
                     Extent(window) - window.padding_low <= window.stride;
  return stays ? FactorKind::kKept : FactorKind::kExchanged;
}

// Fetches what the windows of a split dimension read.
void FetchWindows(const LocalOp& op, int64_t dimension, LocalValues& operands,
                  WindowDimension& window, LocalBuilder& builder) {
  const WindowSplit split =
      SplitOf(op, dimension, op.rule.results[0][dimension][0], builder.mesh());
  const Reach reach = {.step = window.stride,
                       .extent = Extent(window),
                       .padding_low = window.padding_low,
                       .base_dilation = window.base_dilation};
  // What is beyond the ends does not count, whatever the start value.
  const size_t inputs = operands.size() / 2;
  const std::optional<Reduction> reduction =
      ReductionOf(*op.instruction.called[0]);
  for (size_t i = 0; i < inputs; ++i) {
    Instruction* fill =
        reduction.has_value()
            ? builder.Identity(*reduction, operands[i]->shape.element_type)
            : operands[inputs + i];
    const Fetched fetched =
        FetchReach(split, reach, /*clean=*/false, operands[i], fill, builder);
    operands[i] = fetched.value;
    window.padding_low = fetched.padding_low;
    window.padding_high = fetched.padding_high;
    window.base_dilation = fetched.base_dilation;
  }
}

// Adds the totals of the shards before (after) to local running values.
Instruction* AddTotals(Instruction* value, int64_t dimension, Running running,
                       Reduction reduction, const AxisList& axes,
                       LocalBuilder& builder) {
  const int64_t size = value->shape.dimensions[dimension];
  const bool forward = running == Running::kForward;
  Instruction* total = builder.Slice(value, dimension, forward ? size - 1 : 0,
                                     forward ? size : 1);
  Instruction* totals = builder.AllGather(total, axes, dimension);
  const std::vector<int64_t>& dimensions = totals->shape.dimensions;
  Instruction* counted =
      builder.Compare(forward ? "LT" : "GT",
                      builder.Iota(ElementType::kS32, dimensions, dimension),
                      builder.Broadcast(builder.AxisIndex(axes), dimensions));
  Instruction* identity =
      builder.Identity(reduction, value->shape.element_type);
  Instruction* others = builder.Reduce(
      reduction,
      builder.Select(counted, totals, builder.Broadcast(identity, dimensions)),
      {dimension});
  std::vector<int64_t> mapping;
  for (int64_t i = 0; i < value->shape.rank(); ++i) {
    if (i != dimension) mapping.push_back(i);
  }
  others = builder.BroadcastInDim(others, value->shape.dimensions, mapping);
  return forward ? builder.Combine(reduction, others, value)
                 : builder.Combine(reduction, value, others);
}

Rule WindowRule(const Instruction& instruction, bool separate) {
  const Shape& from = instruction.operand_shape(0);
  const int32_t inputs = static_cast<int32_t>(instruction.operands.size() / 2);
  const std::vector<const Shape*> results = Leaves(instruction.shape);
  Rule rule;
  TensorFactors base(from.rank());
  TensorFactors place(from.rank());
  for (int64_t i = 0; i < from.rank(); ++i) {
    const WindowDimension& window =
        instruction.attributes->window->dimensions[i];
    const int64_t places = results[0]->dimensions[i];
    AddWindowed(window, from.dimensions[i], places,
                KindOf(window, from.dimensions[i], places), separate, rule,
                base[i], place[i]);
  }
  rule.operands.assign(inputs, base);
  rule.operands.resize(2 * inputs);  // The start values are scalars.
  rule.results.assign(inputs, place);
  if (inputs == 1) {
    const std::optional<Reduction> reduction =
        ReductionOf(*instruction.called[0]);
    if (reduction.has_value()) rule.linear = {{*reduction, {0, 1}}};
  }
  return rule;
}

}  // namespace

std::optional<Rule> ReduceWindowFactors(const Instruction& instruction) {
  return WindowRule(instruction, /*separate=*/false);
}

std::optional<Rule> ShiftedReduceWindowFactors(const Instruction& instruction) {
  Rule rule = WindowRule(instruction, /*separate=*/true);
  const bool same = rule.operands == ReduceWindowFactors(instruction)->operands;
  if (same) return std::nullopt;
  return rule;
}

LocalValues LowerReduceWindow(const LocalOp& op, LocalBuilder& builder) {
  Attributes attributes = *op.instruction.attributes;
  LocalValues operands = op.operands;
  std::vector<int64_t> running;
  for (int64_t i = 0; i < operands[0]->shape.rank(); ++i) {
    WindowDimension& window = attributes.window->dimensions[i];
    if (IsTrivial(window) || !IsSplitDimension(op, i)) continue;
    const Running kind = RunningOf(op.instruction, i);
    if (kind == Running::kNone) {
      FetchWindows(op, i, operands, window, builder);
      continue;
    }
    const int64_t local = operands[0]->shape.dimensions[i];
    window.size = local;
    (kind == Running::kForward ? window.padding_low : window.padding_high) =
        local - 1;
    running.push_back(i);
    if (kind == Running::kBackward) {
      operands[0] = MaskPadding(op, 0, op.rule.operands[0][i][0], operands[0],
                                operands[1], builder);
    }
  }
  LocalValues results =
      LowerWith(op, std::move(attributes), std::move(operands), builder);
  for (const int64_t i : running) {
    results[0] = AddTotals(results[0], i, RunningOf(op.instruction, i),
                           *ReductionOf(*op.instruction.called[0]),
                           op.axes(op.rule.operands[0][i][0]), builder);
  }
  return results;
}

}  // namespace meshwright
