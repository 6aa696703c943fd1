// What convolutions on CPUs do besides multiplying: they gather the elements of
// every window into the rows of a matrix (im2col), or scatter-add such rows.
//
//   f32[8,16,16,4] with windows of 3 x 3 at all 16 x 16 places:
//   8 * 16 * 16 * 9 * 4 elements, 4 of them side by side at a time
//
// Gradients have other windows than their forward convolution. In that of the
// kernel the images act as channels, of which there are few, and windows are as
// large as an image: many elements, none contiguous, with gaps if the
// convolution has strides. That of the input, if there are strides,
// scatter-adds.
#ifndef MESHWRIGHT_COST_CONVOLUTION_WINDOWS_H_
#define MESHWRIGHT_COST_CONVOLUTION_WINDOWS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "meshwright/hlo/instruction.h"

namespace meshwright {

struct ConvolutionWindows {
  double elements = 0;
  double side_by_side = 1;
  // Whether the elements of a window have gaps between them.
  bool gaps = false;
};

// For arrays of these sizes; `elements` is 0 for other instructions.
ConvolutionWindows WindowsOf(const Instruction& convolution,
                             absl::Span<const int64_t> input,
                             absl::Span<const int64_t> kernel,
                             absl::Span<const int64_t> output);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_CONVOLUTION_WINDOWS_H_
