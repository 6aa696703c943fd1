#include "meshwright/cost/convolution_windows.h"

#include "gtest/gtest.h"
#include "meshwright/cost/module_for_test.h"
#include "meshwright/cost/op_time.h"

namespace meshwright {
namespace {

// Of images [b, y, x, f] with a kernel [y, x, i, o].
struct Convolution {
  Convolution(std::vector<int64_t> images, std::vector<int64_t> kernel,
              std::vector<int64_t> result, WindowDimension side) {
    BodyForTest body(module.AddComputation("main"));
    side.size = kernel[0];
    made = body.Convolution(body.Parameter(F32(std::move(images))),
                            body.Parameter(F32(std::move(kernel))),
                            F32(std::move(result)));
    Attributes& attributes = made->attributes.mutate();
    attributes.window = Window{.dimensions = {side, side}};
    attributes.convolution->input_feature = 3;
    attributes.convolution->input_spatial = {1, 2};
    attributes.feature_group_count = 1;
  }
  Module module{"m"};
  Instruction* made;
};

// With the sizes it has.
ConvolutionWindows WindowsOf(const Instruction& made) {
  return WindowsOf(made, made.operand_shape(0).dimensions,
                   made.operand_shape(1).dimensions, made.shape.dimensions);
}

TEST(WindowsOfTest, AConvolutionGathersItsWindows) {
  const Convolution forward({8, 16, 16, 4}, {3, 3, 4, 6}, {8, 16, 16, 6},
                            {.padding_low = 1, .padding_high = 1});
  const ConvolutionWindows windows = WindowsOf(*forward.made);
  EXPECT_EQ(windows.elements, 8 * 16 * 16 * 9 * 4);
  EXPECT_EQ(windows.side_by_side, 4);
  EXPECT_FALSE(windows.gaps);
}

TEST(WindowsOfTest, TheGradientOfAKernelHasImagesForChannels) {
  // Of the above with a stride of 2: six results and four images of a batch of
  // two.
  const Convolution gradient(
      {4, 16, 16, 2}, {8, 8, 2, 6}, {4, 3, 3, 6},
      {.padding_low = 1, .padding_high = 0, .window_dilation = 2});
  const ConvolutionWindows windows = WindowsOf(*gradient.made);
  EXPECT_EQ(windows.elements, 4 * 3 * 3 * 64 * 2);
  EXPECT_EQ(windows.side_by_side, 2);
  EXPECT_TRUE(windows.gaps);
}

TEST(WindowsOfTest, WholeRowsLieSideBySide) {
  const Convolution gradient({4, 8, 8, 2}, {8, 8, 2, 6}, {4, 1, 1, 6}, {});
  EXPECT_EQ(WindowsOf(*gradient.made).side_by_side, 16);
}

TEST(WindowsOfTest, TheGradientOfAStridedInputAddsUp) {
  const Convolution gradient(
      {8, 8, 8, 6}, {3, 3, 6, 4}, {8, 16, 16, 4},
      {.padding_low = 2, .padding_high = 1, .base_dilation = 2});
  const ConvolutionWindows windows = WindowsOf(*gradient.made);
  EXPECT_EQ(windows.elements, 8 * 8 * 8 * 9 * 4);
  EXPECT_EQ(windows.side_by_side, 4);
  EXPECT_FALSE(windows.gaps);
}

TEST(WindowsOfTest, LocalSizesCount) {
  const Convolution forward({8, 16, 16, 4}, {3, 3, 4, 6}, {8, 16, 16, 6},
                            {.padding_low = 1, .padding_high = 1});
  const ConvolutionWindows windows =
      WindowsOf(*forward.made, {2, 16, 16, 1}, {3, 3, 1, 6}, {2, 16, 16, 6});
  EXPECT_EQ(windows.elements, 2 * 16 * 16 * 9);
  EXPECT_EQ(windows.side_by_side, 1);
}

TEST(WindowsOfTest, OtherInstructionsHaveNone) {
  Module module("m");
  BodyForTest body(module.AddComputation("main"));
  Instruction* x = body.Parameter(F32({8, 8}));
  EXPECT_EQ(WindowsOf(*body.Dot(x, x)).elements, 0);
}

TEST(WindowSecondsTest, ComeOnTopOfTheContraction) {
  Rates rates;
  rates.matmul[ElementType::kF32].points = {{1, 1e9}};
  LocalWork local{.unit = Unit::kConvolution,
                  .work = {.flops = 1000},
                  .windows = {.elements = 500, .side_by_side = 1}};
  EXPECT_NEAR(FusedSeconds(local, rates), 1e-6, 1e-15);  // No points: part.
  rates.window_elements.points = {{1, 8e-9}, {16, 2e-9}};
  rates.window_gaps.value = 1.5;
  EXPECT_NEAR(FusedSeconds(local, rates), 5e-6, 1e-15);
  local.windows.gaps = true;
  EXPECT_NEAR(FusedSeconds(local, rates), 7e-6, 1e-15);
  local.windows = {.elements = 500, .side_by_side = 64};
  EXPECT_NEAR(FusedSeconds(local, rates), 2e-6, 1e-15);
}

}  // namespace
}  // namespace meshwright
