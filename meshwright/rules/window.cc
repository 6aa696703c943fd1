// reduce-window and select-and-scatter: dimensions without a window are split
// freely. Along the others a device fetches what its windows need from its
// neighbours (nothing, when windows do not cross shards); running sums are
// local ones plus the totals of the shards before.
#include "meshwright/rules/exchange.h"
#include "meshwright/rules/families.h"

namespace meshwright {
namespace {

bool IsTrivial(const WindowDimension& window) {
  return window.size == 1 && window.stride == 1 && window.padding_low == 0 &&
         window.padding_high == 0 && window.base_dilation == 1;
}

int64_t Extent(const WindowDimension& window) {
  return (window.size - 1) * window.window_dilation + 1;
}

// Whether shards of the base are whole strides of shards of the places.
bool Fits(const WindowDimension& window, int64_t base_size, int64_t places) {
  return window.base_dilation == 1 && base_size == places * window.stride;
}

// Factors of a base dimension and its windows' places: alike, or the base is
// the places times the stride.
void AddWindowed(const WindowDimension& window, int64_t base_size,
                 int64_t places, FactorKind kind, Rule& rule, DimFactors& base,
                 DimFactors& place) {
  if (window.base_dilation == 1 && base_size == places) {
    base = place = {rule.AddFactor(places, kind)};
    rule.factors[base[0]].may_pad = true;
  } else if (Fits(window, base_size, places)) {
    place = {rule.AddFactor(places, kind)};
    base = {place[0], rule.AddFactor(window.stride, FactorKind::kWhole)};
  } else {
    place = {rule.AddFactor(places, FactorKind::kWhole)};
    base = {rule.AddFactor(base_size, FactorKind::kWhole)};
  }
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

FactorKind KindOf(const WindowDimension& window, bool fits) {
  const bool stays = fits && window.padding_low <= 0 &&
                     Extent(window) - window.padding_low <= window.stride;
  return stays ? FactorKind::kKept : FactorKind::kExchanged;
}

// Fetches what the windows of a split dimension need; there is no padding left.
void FetchWindows(const LocalOp& op, int64_t dimension, LocalValues& operands,
                  WindowDimension& window, LocalBuilder& builder) {
  const Mesh& mesh = builder.mesh();
  const DimSharding dim =
      OperandSharding(op.rule, op.strategy, 0, mesh).dims[dimension];
  const int64_t places = LocalSize(
      ResultSharding(op.rule, op.strategy, 0, mesh).dims[dimension], mesh);
  const Movement movement =
      Stretches(dim, dimension, -window.padding_low, places * window.stride,
                (places - 1) * window.stride + Extent(window), mesh);
  // What is beyond the ends does not count, whatever the start value.
  const size_t inputs = operands.size() / 2;
  const std::optional<Reduction> reduction =
      ReductionOf(*op.instruction.called[0]);
  for (size_t i = 0; i < inputs; ++i) {
    Instruction* fill =
        reduction.has_value()
            ? builder.Identity(*reduction, operands[i]->shape.element_type)
            : operands[inputs + i];
    operands[i] = Exchange(movement, operands[i], fill, builder);
  }
  window.padding_low = window.padding_high = 0;
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

// The values that a select-and-scatter never chooses, or none.
std::optional<Reduction> UnchosenOf(const Computation& select) {
  const Instruction* root = select.root();
  if (root->opcode != Opcode::kCompare ||
      root->operands[0]->opcode != Opcode::kParameter ||
      root->operands[1]->opcode != Opcode::kParameter) {
    return std::nullopt;
  }
  const int64_t first = root->operands[0]->attributes->parameter_number;
  const int64_t second = root->operands[1]->attributes->parameter_number;
  const std::string& direction = root->attributes->comparison_direction;
  if (first == second || direction.size() != 2) return std::nullopt;
  const bool larger = direction[0] == 'G';
  if (!larger && direction[0] != 'L') return std::nullopt;
  return larger == (first < second) ? Reduction::kMax : Reduction::kMin;
}

FactorKind ScatterKindOf(const Instruction& instruction,
                         const WindowDimension& window, bool fits) {
  if (!fits || window.window_dilation != 1) return FactorKind::kWhole;
  if (window.padding_low == 0 && window.size <= window.stride) {
    return FactorKind::kKept;
  }
  const bool can_fetch = window.window_dilation == 1 &&
                         window.size >= window.stride &&
                         UnchosenOf(*instruction.called[0]).has_value() &&
                         ReductionOf(*instruction.called[1]) == Reduction::kSum;
  return can_fetch ? FactorKind::kExchanged : FactorKind::kWhole;
}

int64_t FloorDivide(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && a < 0 ? 1 : 0);
}

// Fetches all windows that touch this device's part of a split dimension.
// Returns where that part begins in what was fetched.
int64_t FetchTouching(const LocalOp& op, int64_t dimension,
                      LocalValues& operands, WindowDimension& window,
                      LocalBuilder& builder) {
  const Mesh& mesh = builder.mesh();
  const Sharding base = OperandSharding(op.rule, op.strategy, 0, mesh);
  const Sharding source = OperandSharding(op.rule, op.strategy, 1, mesh);
  const int64_t local = LocalSize(base.dims[dimension], mesh);
  const int64_t places = LocalSize(source.dims[dimension], mesh);
  const int64_t low = window.padding_low;
  const int64_t first = FloorDivide(low - window.size, window.stride) + 1;
  const int64_t last = FloorDivide(local - 1 + low, window.stride);
  const int64_t begin = first * window.stride - low;
  const ElementType type = operands[0]->shape.element_type;
  operands[0] = Exchange(
      Stretches(base.dims[dimension], dimension, begin, local,
                (last - first) * window.stride + window.size, mesh),
      operands[0],
      builder.Identity(*UnchosenOf(*op.instruction.called[0]), type), builder);
  operands[1] = Exchange(Stretches(source.dims[dimension], dimension, first,
                                   places, last - first + 1, mesh),
                         operands[1], nullptr, builder);
  window.padding_low = window.padding_high = 0;
  return -begin;
}

}  // namespace

std::optional<Rule> ReduceWindowFactors(const Instruction& instruction) {
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
    const bool fits = Fits(window, from.dimensions[i], places);
    AddWindowed(window, from.dimensions[i], places, KindOf(window, fits), rule,
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

std::optional<Rule> SelectAndScatterFactors(const Instruction& instruction) {
  const Shape& from = instruction.operand_shape(0);
  Rule rule;
  TensorFactors base(from.rank());
  TensorFactors place(from.rank());
  for (int64_t i = 0; i < from.rank(); ++i) {
    const WindowDimension& window =
        instruction.attributes->window->dimensions[i];
    const int64_t places = instruction.operand_shape(1).dimensions[i];
    const bool fits = Fits(window, from.dimensions[i], places);
    AddWindowed(window, from.dimensions[i], places,
                ScatterKindOf(instruction, window, fits), rule, base[i],
                place[i]);
  }
  rule.operands = {base, place, {}};
  rule.results = {base};
  if (ReductionOf(*instruction.called[1]) == Reduction::kSum) {
    rule.linear = {{Reduction::kSum, {1, 2}}};
  }
  return rule;
}

LocalValues LowerSelectAndScatter(const LocalOp& op, LocalBuilder& builder) {
  Attributes attributes = *op.instruction.attributes;
  LocalValues operands = op.operands;
  const std::vector<int64_t> local = operands[0]->shape.dimensions;
  std::vector<std::pair<int64_t, int64_t>> cuts;
  for (int64_t i = 0; i < operands[0]->shape.rank(); ++i) {
    const int32_t factor = op.rule.operands[1][i][0];
    if (!op.IsSplit(factor) ||
        op.rule.factors[factor].kind != FactorKind::kExchanged) {
      continue;
    }
    cuts.push_back(
        {i, FetchTouching(op, i, operands, attributes.window->dimensions[i],
                          builder)});
  }
  const Shape shape = operands[0]->shape;
  Instruction* value = builder.Clone(
      op.instruction, Shape::Array(shape.element_type, shape.dimensions),
      std::move(operands));
  value->attributes.mutate() = std::move(attributes);
  for (const auto& [dimension, start] : cuts) {
    value = builder.Slice(value, dimension, start, start + local[dimension]);
  }
  return {value};
}

}  // namespace meshwright
