// Convolutions with dimensions in any order, strides, dilations and groups.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "absl/status/status.h"
#include "meshwright/hlo/window_size.h"
#include "tests/rules/lowered.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

int64_t Pick(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

// Where batch, features and spatial dimensions of a tensor lie.
struct Places {
  int64_t first = 0;
  int64_t second = 1;
  std::vector<int64_t> spatial;
};

Places RandomPlaces(Random& random, int64_t spatial) {
  std::vector<int64_t> order(2 + spatial);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  return {order[0], order[1], {order.begin() + 2, order.end()}};
}

std::string Tensor(const Places& places, int64_t first, int64_t second,
                   const std::vector<int64_t>& spatial) {
  std::vector<int64_t> dimensions(2 + spatial.size());
  dimensions[places.first] = first;
  dimensions[places.second] = second;
  for (size_t i = 0; i < spatial.size(); ++i) {
    dimensions[places.spatial[i]] = spatial[i];
  }
  return ShapeText(ElementType::kF32, dimensions);
}

struct Sizes {
  int64_t batch = 1;
  int64_t input = 1;   // Of one group.
  int64_t output = 1;  // Of one group.
  int64_t feature_groups = 1;
  int64_t batch_groups = 1;
  std::vector<int64_t> base;
  std::vector<WindowDimension> windows;
};

OneOp Convolution(const Sizes& sizes, const Places& lhs, const Places& rhs,
                  const Places& out) {
  std::vector<int64_t> taps;
  for (const WindowDimension& window : sizes.windows) {
    taps.push_back(window.size);
  }
  const int64_t groups = sizes.feature_groups * sizes.batch_groups;
  return {.opcode = Opcode::kConvolution,
          .operands = {Tensor(lhs, sizes.batch * sizes.batch_groups,
                              sizes.input * sizes.feature_groups, sizes.base),
                       Tensor(rhs, sizes.input, sizes.output * groups, taps)},
          .set = [=](Attributes& attributes) {
            attributes.convolution = {.input_batch = lhs.first,
                                      .input_feature = lhs.second,
                                      .input_spatial = lhs.spatial,
                                      .kernel_input_feature = rhs.first,
                                      .kernel_output_feature = rhs.second,
                                      .kernel_spatial = rhs.spatial,
                                      .output_batch = out.first,
                                      .output_feature = out.second,
                                      .output_spatial = out.spatial,
                                      .unknown_fields = ""};
            attributes.window = {sizes.windows, ""};
            attributes.feature_group_count = sizes.feature_groups;
            attributes.batch_group_count = sizes.batch_groups;
          }};
}

// Batch, spatial, features; spatial, input, output: the usual order.
OneOp Usual(const Sizes& sizes) {
  const int64_t rank = static_cast<int64_t>(sizes.base.size());
  Places tensor{0, rank + 1, {}};
  Places kernel{rank, rank + 1, {}};
  for (int64_t i = 0; i < rank; ++i) {
    tensor.spatial.push_back(i + 1);
    kernel.spatial.push_back(i);
  }
  return Convolution(sizes, tensor, kernel, tensor);
}

WindowDimension Same(int64_t size, int64_t stride = 1) {
  const int64_t padding = std::max<int64_t>(size - stride, 0);
  return {.size = size,
          .stride = stride,
          .padding_low = padding / 2,
          .padding_high = padding - padding / 2,
          .unknown_fields = ""};
}

WindowDimension RandomWindow(Random& random, int64_t base) {
  WindowDimension window{.size = Pick(random, 1, 4),
                         .stride = Pick(random, 1, 3),
                         .padding_low = Pick(random, -1, 4),
                         .padding_high = Pick(random, -1, 4),
                         .window_dilation = Pick(random, 1, 2),
                         .base_dilation = Pick(random, 1, 2),
                         .window_reversal = Pick(random, 0, 3) == 0,
                         .unknown_fields = ""};
  if (Pick(random, 0, 1) == 0) {
    // As many windows as fit the base: what can be split.
    const int64_t reach =
        (base * window.base_dilation / window.stride - 1) * window.stride +
        (window.size - 1) * window.window_dilation + 1;
    window.padding_high =
        reach - window.padding_low - (base - 1) * window.base_dilation - 1;
  } else if (Pick(random, 0, 1) == 0) {
    // A kernel gradient: a window of the base's extent.
    window.size = base * window.base_dilation / window.window_dilation;
    window.padding_high = Pick(random, 0, 3);
  }
  return window;
}

bool HasWindows(int64_t base, const WindowDimension& window) {
  const absl::StatusOr<int64_t> places = WindowPlaces(base, window);
  return window.size > 0 && places.ok() && *places > 0;
}

OneOp RandomConvolution(Random& random) {
  Sizes sizes{.batch = Pick(random, 1, 6),
              .input = Pick(random, 1, 4),
              .output = Pick(random, 1, 4)};
  const int64_t grouped = Pick(random, 0, 3);
  if (grouped == 1) sizes.feature_groups = Pick(random, 2, 4);
  if (grouped == 2) sizes.batch_groups = Pick(random, 2, 4);
  const int64_t rank = Pick(random, 1, 2);
  while (static_cast<int64_t>(sizes.base.size()) < rank) {
    const int64_t base = Pick(random, 1, 3) * 4;
    const WindowDimension window = RandomWindow(random, base);
    if (!HasWindows(base, window)) continue;
    sizes.base.push_back(base);
    sizes.windows.push_back(window);
  }
  return Convolution(sizes, RandomPlaces(random, rank),
                     RandomPlaces(random, rank), RandomPlaces(random, rank));
}

TEST(ConvolutionRule, RandomOnes) {
  Random random(7);
  int32_t exchanged = 0;
  int32_t spatial_sums = 0;
  for (uint64_t i = 0; i < 32; ++i) {
    const OneOp op = RandomConvolution(random);
    for (const Factor& factor : RuleFor(*Build(op).instruction).factors) {
      exchanged += factor.kind == FactorKind::kExchanged ? 1 : 0;
      spatial_sums += factor.kind == FactorKind::kReduced ? 1 : 0;
    }
    EXPECT_EQ(CheckRule(op, {.seed = i + 1,
                             .count = 6,
                             .meshes = {i % 2 == 0 ? "a=2,b=2" : "4"}}),
              absl::OkStatus())
        << "convolution " << i;
  }
  // Enough of the hard ones; every one has a sum over its input features.
  EXPECT_GE(exchanged, 8);
  EXPECT_GE(spatial_sums - 32, 6);
}

TEST(ConvolutionRule, HaloOfOneRowOnEachSide) {
  const OneOp op = Usual({.batch = 2,
                          .input = 3,
                          .output = 4,
                          .base = {16, 8},
                          .windows = {Same(3), Same(3)}});
  EXPECT_THAT(CollectivesOf(op, 0, 1, 8),
              ElementsAre("collective-permute f32[2,1,8,3]",
                          "collective-permute f32[2,1,8,3]"));
  EXPECT_EQ(CheckRule(op, {.meshes = {"8", "a=2,b=2,c=2"}}), absl::OkStatus());
}

// A halo must fit into one neighbour's shard.
TEST(ConvolutionRule, WideWindowsAreCutIntoFewerShards) {
  const OneOp op = Usual({.base = {16}, .windows = {Same(7)}});
  const Rule rule = RuleFor(*Build(op).instruction);
  EXPECT_EQ(rule.factors[rule.operands[0][1][0]].size, 4);
  EXPECT_THAT(CollectivesOf(op, 0, 1, 4),
              ElementsAre("collective-permute f32[1,3,1]",
                          "collective-permute f32[1,3,1]"));
}

// The windows do not fit the shards of lhs: 14 windows on 16 rows.
TEST(ConvolutionRule, WithoutPadding) {
  WindowDimension window{.size = 3, .unknown_fields = ""};
  const OneOp op = Usual(
      {.batch = 2, .input = 3, .output = 4, .base = {16}, .windows = {window}});
  EXPECT_THAT(CollectivesOf(op, 0, 1, 8),
              ElementsAre("collective-permute f32[2,2,3]"));
  EXPECT_EQ(CheckRule(op), absl::OkStatus());
  window.base_dilation = 3;
  window.stride = 2;
  window.padding_low = 2;
  EXPECT_EQ(CheckRule(Usual({.base = {7}, .windows = {window}})),
            absl::OkStatus());
}

// Padding on one side only, and less than none on the other.
TEST(ConvolutionRule, NegativePadding) {
  const WindowDimension shifted{.size = 2,
                                .stride = 2,
                                .padding_low = -1,
                                .padding_high = 1,
                                .unknown_fields = ""};
  const WindowDimension spread{
      .size = 2, .padding_low = 3, .base_dilation = 2, .unknown_fields = ""};
  EXPECT_EQ(CheckRule(Usual({.batch = 2,
                             .input = 3,
                             .output = 4,
                             .base = {8, 12},
                             .windows = {spread, shifted}})),
            absl::OkStatus());
}

TEST(ConvolutionRule, KernelGradientWithoutPadding) {
  const WindowDimension window{
      .size = 7, .window_dilation = 2, .unknown_fields = ""};
  const OneOp op = Convolution(
      {.batch = 2, .input = 3, .output = 2, .base = {16}, .windows = {window}},
      {2, 0, {1}}, {0, 2, {1}}, {1, 2, {0}});
  EXPECT_EQ(KindOf(RuleFor(*Build(op).instruction), 1, 1),
            FactorKind::kReduced);
  EXPECT_EQ(CheckRule(op), absl::OkStatus());
}

TEST(ConvolutionRule, HalvingTakesOneRowFromOneSide) {
  const OneOp op = Usual({.base = {16}, .windows = {Same(3, 2)}});
  EXPECT_THAT(CollectivesOf(op, 0, 1, 8),
              ElementsAre("collective-permute f32[1,1,1]"));
}

TEST(ConvolutionRule, PatchesNeedNoHalo) {
  const OneOp op = Usual({.batch = 2,
                          .input = 3,
                          .output = 4,
                          .base = {16, 8},
                          .windows = {Same(4, 4), Same(4, 4)}});
  EXPECT_EQ(KindOf(RuleFor(*Build(op).instruction), 0, 1), FactorKind::kKept);
  EXPECT_THAT(CollectivesOf(op, 0, 1, 4), IsEmpty());
  EXPECT_EQ(CheckRule(op), absl::OkStatus());
}

TEST(ConvolutionRule, PointwisePadsItsSpatialDimensions) {
  const OneOp op =
      Usual({.batch = 2, .input = 3, .base = {5}, .windows = {Same(1)}});
  EXPECT_THAT(CollectivesOf(op, 0, 1, 4), IsEmpty());
  EXPECT_EQ(CheckRule(op), absl::OkStatus());
}

// Batch is summed, the spatial dimensions of image and gradient go together.
TEST(ConvolutionRule, KernelGradient) {
  WindowDimension window{
      .size = 16, .padding_low = 1, .padding_high = 1, .unknown_fields = ""};
  const Places image{3, 0, {1, 2}};
  const OneOp op = Convolution({.batch = 3,
                                .input = 4,
                                .output = 5,
                                .base = {16, 16},
                                .windows = {window, window}},
                               image, {0, 3, {1, 2}}, {2, 3, {0, 1}});
  const Rule rule = RuleFor(*Build(op).instruction);
  EXPECT_EQ(KindOf(rule, 0, 0), FactorKind::kReduced);
  EXPECT_EQ(KindOf(rule, 0, 1), FactorKind::kReduced);
  EXPECT_THAT(CollectivesOf(op, 0, 0, 2), IsEmpty());
  EXPECT_THAT(CollectivesOf(op, 0, 1, 8),
              ElementsAre("collective-permute f32[4,1,16,3]",
                          "collective-permute f32[4,1,16,3]"));
  EXPECT_EQ(CheckRule(op), absl::OkStatus());
}

TEST(ConvolutionRule, DepthwiseAndItsKernelGradientSplitFeatures) {
  const OneOp forward = Usual(
      {.batch = 2, .feature_groups = 8, .base = {8}, .windows = {Same(3)}});
  EXPECT_THAT(CollectivesOf(forward, 0, 2, 8), IsEmpty());
  EXPECT_EQ(CheckRule(forward), absl::OkStatus());
  const OneOp gradient = Convolution({.input = 2,
                                      .batch_groups = 8,
                                      .base = {8},
                                      .windows = {{.size = 8,
                                                   .padding_low = 1,
                                                   .padding_high = 1,
                                                   .unknown_fields = ""}}},
                                     {2, 0, {1}}, {0, 2, {1}}, {1, 2, {0}});
  EXPECT_THAT(CollectivesOf(gradient, 0, 2, 8), IsEmpty());
  EXPECT_EQ(CheckRule(gradient), absl::OkStatus());
}

}  // namespace
}  // namespace meshwright
