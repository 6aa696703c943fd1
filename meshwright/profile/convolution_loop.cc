#include "meshwright/profile/loop_builder.h"
#include "meshwright/profile/loop_program.h"

namespace meshwright {
namespace {

constexpr int64_t kImages = 8;
constexpr int64_t kSide = 16;
// Of the loops over windows.
constexpr int64_t kFewImages = 2;
constexpr int64_t kFilters = 8;
constexpr int64_t kWindow = 3;

Shape Images(int64_t count, int64_t channels) {
  return Shape::Array(ElementType::kF32, {count, kSide, kSide, channels});
}

// With as many output positions as the images have.
Instruction* Convolve(LoopBuilder& build, Instruction* images,
                      Instruction* kernel, int64_t dilation) {
  const int64_t size = kernel->shape.dimensions[0];
  const int64_t padding = dilation * (size - 1) / 2;
  Instruction* made = build.Add(
      Opcode::kConvolution,
      Images(images->shape.dimensions[0], kernel->shape.dimensions[3]),
      {images, kernel});
  Attributes& attributes = made->attributes.mutate();
  const WindowDimension side{.size = size,
                             .padding_low = padding,
                             .padding_high = padding,
                             .window_dilation = dilation};
  attributes.window = Window{.dimensions = {side, side}};
  attributes.convolution =
      ConvolutionDimensionNumbers{.input_batch = 0,
                                  .input_feature = 3,
                                  .input_spatial = {1, 2},
                                  .kernel_input_feature = 2,
                                  .kernel_output_feature = 3,
                                  .kernel_spatial = {0, 1},
                                  .output_batch = 0,
                                  .output_feature = 3,
                                  .output_spatial = {1, 2}};
  attributes.feature_group_count = 1;
  attributes.batch_group_count = 1;
  return made;
}

Shape KernelShape(int64_t size, int64_t channels, int64_t filters) {
  return Shape::Array(ElementType::kF32, {size, size, channels, filters});
}

}  // namespace

LoopProgram ConvolutionLoop(int64_t channels) {
  return MakeLoop(
      {Images(kImages, channels), KernelShape(3, channels, channels)}, 1,
      [&](LoopBuilder& build, std::vector<Instruction*> values) {
        return Convolve(build, values[0], values[1], 1);
      });
}

double ConvolutionFlops(int64_t channels) {
  return 2.0 * 3 * 3 * static_cast<double>(kImages * kSide * kSide) *
         static_cast<double>(channels * channels);
}

// An iteration's result is not the next one's input: only one element is passed
// on, so that no iteration can be skipped.
LoopProgram WindowsLoop(int64_t channels, int64_t dilation) {
  const Shape one = Shape::Array(ElementType::kF32, {1, 1, 1, 1});
  return MakeLoopOf(
      {Images(kFewImages, kFilters), Images(kFewImages, channels),
       KernelShape(kWindow, channels, kFilters)},
      1, [&](LoopBuilder& build, const std::vector<Instruction*>& values) {
        Instruction* first = build.Add(Opcode::kSlice, one, {values[0]});
        first->attributes.mutate().slice.assign(4, {.start = 0, .limit = 1});
        Instruction* zero = build.Constant(Literal::Scalar(int32_t{0}));
        Instruction* images =
            build.Add(Opcode::kDynamicUpdateSlice, values[1]->shape,
                      {values[1], first, zero, zero, zero, zero});
        Instruction* made = Convolve(build, images, values[2], dilation);
        return std::vector<Instruction*>{made, images};
      });
}

double WindowsElements(int64_t channels) {
  return static_cast<double>(kFewImages * kSide * kSide * kWindow * kWindow *
                             channels);
}

double WindowsFlops(int64_t channels) {
  return 2.0 * kFilters * WindowsElements(channels);
}

}  // namespace meshwright
