// convolution, by its dimension numbers alone: forward, input gradient and
// kernel gradient are the same rule with the dimensions in other places.
//
//   batch      lhs, out    kept
//   output     rhs, out    kept
//   input      lhs, rhs    summed
//   groups     major part of lhs and rhs features (or lhs batch); kept
//   windows    lhs, out    a spatial dimension with its place of the window:
//                          kept, with a halo of lhs
//   taps       lhs, rhs    a spatial dimension with the place in the window
//                          (kernel gradients): summed, with a halo of lhs
// Where shards of lhs and of windows (or taps) do not fit each other, both are
// split for themselves, and a device fetches what it reads (windows.h).
#include <algorithm>
#include <numeric>

#include "meshwright/hlo/window_size.h"
#include "meshwright/rules/families.h"
#include "meshwright/rules/halo.h"
#include "meshwright/rules/windows.h"

namespace meshwright {
namespace {

int64_t AtLeastOne(int64_t count) { return count == 0 ? 1 : count; }

// Elements of lhs that a shard needs beyond its own, before and after.
struct Halo {
  int64_t low = 0;
  int64_t high = 0;
};

// One spatial dimension: output `j` meets tap `w` at position
// j * stride + w * window_dilation - padding_low of lhs spread out by
// base_dilation.
struct Spatial {
  int64_t base = 0;     // Size in lhs.
  int64_t windows = 0;  // Size in out.
  WindowDimension window;

  // A shard of lhs and its windows (or taps) begin `base` and `windows` (or
  // taps) times further on for each shard before; as both steps are equal in
  // positions, what lies beyond the shard is equal for all.
  Halo NeededHalo() const {
    const int64_t spread = window.base_dilation;
    const int64_t last = (windows - 1) * window.stride +
                         (window.size - 1) * window.window_dilation -
                         window.padding_low;
    Halo halo;
    halo.low = std::max<int64_t>(window.padding_low, 0) / spread;
    halo.high = std::max<int64_t>(last / spread - base + 1, 0);
    if (last < 0) halo.high = 0;
    return halo;
  }
};

std::vector<Spatial> SpatialDimensions(const Instruction& instruction) {
  const ConvolutionDimensionNumbers& numbers =
      *instruction.attributes->convolution;
  const Window& window = WindowOrEmpty(instruction.attributes->window);
  std::vector<Spatial> result;
  for (size_t i = 0; i < numbers.input_spatial.size(); ++i) {
    result.push_back(
        {.base =
             instruction.operand_shape(0).dimensions[numbers.input_spatial[i]],
         .windows = instruction.shape.dimensions[numbers.output_spatial[i]],
         .window = window.dimensions[i]});
  }
  return result;
}

// The number of equal shards that lhs and `other` (windows or taps) can be cut
// into at most, such that a halo fits into one neighbour. 1 if none.
int64_t MostShards(const Spatial& spatial, int64_t other) {
  const Halo halo = spatial.NeededHalo();
  const int64_t widest = std::max(halo.low, halo.high);
  const int64_t common = std::gcd(spatial.base, other);
  for (int64_t shards = common; shards > 1; --shards) {
    if (common % shards == 0 && spatial.base / shards >= widest) return shards;
  }
  return 1;
}

// Each window sees one element, its own.
bool IsPointwise(const WindowDimension& window) {
  return window.size == 1 && window.stride == 1 && window.base_dilation == 1 &&
         window.padding_low == 0;
}

// A dimension of `size` whose major part is `factor`.
DimFactors WithRest(int32_t factor, int64_t size, Rule& rule) {
  const int64_t rest = size / rule.factors[factor].size;
  if (rest == 1) return {factor};
  return {factor, rule.AddFactor(rest, FactorKind::kWhole)};
}

// Windows or taps, whichever are more, each for itself.
void AddSeparate(const Spatial& spatial, Rule& rule, DimFactors& lhs,
                 DimFactors& rhs, DimFactors& out) {
  const WindowDimension& window = spatial.window;
  const bool by_windows = spatial.windows >= window.size;
  if (spatial.base == 0 || (!by_windows && window.window_reversal)) {
    lhs = {rule.AddFactor(spatial.base, FactorKind::kWhole)};
    rhs = {rule.AddFactor(window.size, FactorKind::kWhole)};
    out = {rule.AddFactor(spatial.windows, FactorKind::kWhole)};
    return;
  }
  const ItemFactors factors =
      AddItems(by_windows ? spatial.windows : window.size, spatial.base, rule);
  lhs = {factors.base};
  (by_windows ? out : rhs) = {factors.item};
  (by_windows ? rhs : out) = {rule.AddFactor(
      by_windows ? window.size : spatial.windows, FactorKind::kWhole)};
  if (!by_windows) rule.factors[factors.item].kind = FactorKind::kReduced;
}

void AddSpatialFactors(const ConvolutionDimensionNumbers& numbers, size_t index,
                       const Spatial& spatial, bool separate, Rule& rule) {
  DimFactors& lhs = rule.operands[0][numbers.input_spatial[index]];
  DimFactors& rhs = rule.operands[1][numbers.kernel_spatial[index]];
  DimFactors& out = rule.results[0][numbers.output_spatial[index]];
  const WindowDimension& window = spatial.window;
  const int64_t extent = spatial.base * window.base_dilation;
  int64_t windows = 1;
  int64_t taps = 1;
  if (spatial.base > 0 && extent == spatial.windows * window.stride) {
    windows = MostShards(spatial, spatial.windows);
  }
  if (spatial.base > 0 && extent == window.size * window.window_dilation &&
      !window.window_reversal) {
    taps = MostShards(spatial, window.size);
  }
  const auto whole = [&](int64_t size) {
    return DimFactors{rule.AddFactor(size, FactorKind::kWhole)};
  };
  if (separate && !IsPointwise(window)) windows = taps = 1;
  if (windows > 1 && windows >= taps) {
    const Halo halo = spatial.NeededHalo();
    const bool alone = halo.low == 0 && halo.high == 0;
    const int32_t factor = rule.AddFactor(
        windows, alone ? FactorKind::kKept : FactorKind::kExchanged);
    rule.factors[factor].may_pad = IsPointwise(window);
    lhs = WithRest(factor, spatial.base, rule);
    out = WithRest(factor, spatial.windows, rule);
    rhs = whole(window.size);
  } else if (taps > 1) {
    const int32_t factor = rule.AddFactor(taps, FactorKind::kReduced);
    lhs = WithRest(factor, spatial.base, rule);
    rhs = WithRest(factor, window.size, rule);
    out = whole(spatial.windows);
  } else {
    AddSeparate(spatial, rule, lhs, rhs, out);
  }
}

int32_t AddPadded(int64_t size, FactorKind kind, Rule& rule) {
  const int32_t factor = rule.AddFactor(size, kind);
  rule.factors[factor].may_pad = true;
  return factor;
}

void AddFeatureFactors(const Instruction& instruction, Rule& rule) {
  const Attributes& attributes = *instruction.attributes;
  const ConvolutionDimensionNumbers& numbers = *attributes.convolution;
  const Shape& lhs_shape = instruction.operand_shape(0);
  const Shape& rhs_shape = instruction.operand_shape(1);
  const int64_t feature_groups = AtLeastOne(attributes.feature_group_count);
  const int64_t batch_groups = AtLeastOne(attributes.batch_group_count);
  const int64_t groups = feature_groups * batch_groups;
  const int32_t batch =
      AddPadded(lhs_shape.dimensions[numbers.input_batch] / batch_groups,
                FactorKind::kKept, rule);
  const int32_t input =
      AddPadded(rhs_shape.dimensions[numbers.kernel_input_feature],
                FactorKind::kReduced, rule);
  const int32_t output =
      AddPadded(rhs_shape.dimensions[numbers.kernel_output_feature] / groups,
                FactorKind::kKept, rule);
  TensorFactors& lhs = rule.operands[0];
  lhs[numbers.input_batch] = {batch};
  lhs[numbers.input_feature] = {input};
  DimFactors features = {output};
  if (groups > 1) {
    const int32_t group = rule.AddFactor(groups);
    DimFactors& grouped = feature_groups > 1 ? lhs[numbers.input_feature]
                                             : lhs[numbers.input_batch];
    grouped.insert(grouped.begin(), group);
    features.insert(features.begin(), group);
  }
  rule.operands[1][numbers.kernel_input_feature] = {input};
  rule.operands[1][numbers.kernel_output_feature] = features;
  rule.results[0][numbers.output_batch] = {batch};
  rule.results[0][numbers.output_feature] = features;
}

// The factor that lhs's spatial dimension `index` is split by.
int32_t SpatialFactor(const LocalOp& op, size_t index) {
  const ConvolutionDimensionNumbers& numbers =
      *op.instruction.attributes->convolution;
  return op.rule.operands[0][numbers.input_spatial[index]][0];
}

// Borrows what the shard's windows reach beyond it, and moves the window's
// padding to the borrowed edges.
Instruction* ExchangeSpatial(const LocalOp& op, size_t index,
                             const Spatial& whole, Instruction* lhs,
                             WindowDimension& window, LocalBuilder& builder) {
  Spatial spatial = whole;
  const ConvolutionDimensionNumbers& numbers =
      *op.instruction.attributes->convolution;
  const int32_t factor = SpatialFactor(op, index);
  const auto cut = [&](int64_t& size) {
    size = size / op.rule.factors[factor].size *
           LocalFactorSize(op.rule, op.strategy, factor, builder.mesh());
  };
  cut(spatial.base);
  cut(op.rule.factors[factor].kind == FactorKind::kReduced ? spatial.window.size
                                                           : spatial.windows);
  window = spatial.window;
  const Halo halo = spatial.NeededHalo();
  window.padding_low -= halo.low * window.base_dilation;
  // Exactly the windows of this shard.
  const int64_t reach = (spatial.windows - 1) * window.stride +
                        (window.size - 1) * window.window_dilation + 1;
  const int64_t length =
      (spatial.base + halo.low + halo.high - 1) * window.base_dilation + 1;
  window.padding_high = reach - length - window.padding_low;
  return WithHalo(lhs, numbers.input_spatial[index], op.axes(factor), halo.low,
                  halo.high, builder);
}

// As ExchangeSpatial, where lhs and what reads it are split for themselves.
Instruction* FetchSpatial(const LocalOp& op, size_t index,
                          const Spatial& spatial, Instruction* lhs,
                          WindowDimension& window, LocalBuilder& builder) {
  const int32_t item = op.rule.factors[SpatialFactor(op, index)].tied;
  const bool by_taps = op.rule.factors[item].kind == FactorKind::kReduced;
  const Reach reach = {.step = by_taps ? window.window_dilation : window.stride,
                       .extent = by_taps
                                     ? (spatial.windows - 1) * window.stride + 1
                                     : Extent(window),
                       .padding_low = window.padding_low,
                       .base_dilation = window.base_dilation};
  // What padding would read counts in a sum, even times zero.
  const Fetched fetched = FetchReach(
      SplitOf(op, op.instruction.attributes->convolution->input_spatial[index],
              item, builder.mesh()),
      reach, /*clean=*/by_taps, lhs,
      builder.Constant(lhs->shape.element_type, 0), builder);
  window.padding_low = fetched.padding_low;
  window.padding_high = fetched.padding_high;
  window.base_dilation = fetched.base_dilation;
  if (by_taps) {
    window.size = LocalFactorSize(op.rule, op.strategy, item, builder.mesh());
  }
  return fetched.value;
}

std::optional<Rule> ConvolutionRule(const Instruction& instruction,
                                    bool separate) {
  const Attributes& attributes = *instruction.attributes;
  if (!attributes.convolution.has_value() || instruction.operands.size() != 2 ||
      (attributes.feature_group_count > 1 &&
       attributes.batch_group_count > 1)) {
    return std::nullopt;
  }
  Rule rule;
  for (const Instruction* operand : instruction.operands) {
    rule.operands.emplace_back(operand->shape.rank());
  }
  rule.results.emplace_back(instruction.shape.rank());
  AddFeatureFactors(instruction, rule);
  const std::vector<Spatial> spatial = SpatialDimensions(instruction);
  for (size_t i = 0; i < spatial.size(); ++i) {
    AddSpatialFactors(*attributes.convolution, i, spatial[i], separate, rule);
  }
  rule.linear = {{Reduction::kSum, {0}}, {Reduction::kSum, {1}}};
  return rule;
}

// Cuts off what negative padding would, where there is padding at the other
// end: XLA's CPU convolutions read beyond their operand then.
void CropLow(const ConvolutionDimensionNumbers& numbers, Window& window,
             Instruction*& lhs, LocalBuilder& builder) {
  for (size_t i = 0; i < window.dimensions.size(); ++i) {
    WindowDimension& one = window.dimensions[i];
    const int64_t dimension = numbers.input_spatial[i];
    const int64_t size = lhs->shape.dimensions[dimension];
    if (one.padding_low >= 0 || one.padding_high <= 0 ||
        one.base_dilation != 1 || size + one.padding_low <= 0) {
      continue;
    }
    lhs = builder.Slice(lhs, dimension, -one.padding_low, size);
    one.padding_low = 0;
  }
}

}  // namespace

std::optional<Rule> ConvolutionFactors(const Instruction& instruction) {
  return ConvolutionRule(instruction, /*separate=*/false);
}

std::optional<Rule> ShiftedConvolutionFactors(const Instruction& instruction) {
  std::optional<Rule> rule = ConvolutionRule(instruction, /*separate=*/true);
  if (!rule.has_value() ||
      rule->operands == ConvolutionFactors(instruction)->operands) {
    return std::nullopt;
  }
  return rule;
}

LocalValues LowerConvolution(const LocalOp& op, LocalBuilder& builder) {
  Attributes attributes = *op.instruction.attributes;
  LocalValues operands = op.operands;
  for (int32_t i = 0; i < static_cast<int32_t>(op.rule.factors.size()); ++i) {
    if (op.rule.factors[i].kind != FactorKind::kReduced) continue;
    for (int32_t side = 0; side < 2; ++side) {
      Instruction* zero =
          builder.Constant(operands[side]->shape.element_type, 0);
      operands[side] = MaskPadding(op, side, i, operands[side], zero, builder);
    }
  }
  const std::vector<Spatial> spatial = SpatialDimensions(op.instruction);
  for (size_t i = 0; i < spatial.size(); ++i) {
    const int32_t factor = SpatialFactor(op, i);
    if (!op.IsSplit(factor)) continue;
    const bool separate = op.rule.factors[factor].tied >= 0;
    operands[0] = (separate ? FetchSpatial : ExchangeSpatial)(
        op, i, spatial[i], operands[0], attributes.window->dimensions[i],
        builder);
  }
  if (attributes.window.has_value()) {
    CropLow(*attributes.convolution, *attributes.window, operands[0], builder);
  }
  // The group factor, where there is one, is major among the output features.
  const DimFactors& features =
      op.rule.results[0][attributes.convolution->output_feature];
  if (features.size() > 1) {
    const int64_t shards = builder.mesh().Size(op.axes(features[0]));
    int64_t& count = attributes.feature_group_count > 1
                         ? attributes.feature_group_count
                         : attributes.batch_group_count;
    count /= shards;
  }
  return LowerWith(op, std::move(attributes), std::move(operands), builder);
}

}  // namespace meshwright
