// What convolutions on CPUs do besides multiplying: they copy the elements of
// every window into the rows of a matrix, or add such rows up.
//
//   f32[8,16,16,4] with windows of 3 x 3 at all 16 x 16 places:
//   8 * 16 * 16 * 9 * 4 elements, 4 of them side by side at a time
//
// Gradients have other windows than the convolution that they belong to. That
// of the kernel has images for channels, few of them, and windows as large as
// an image: many elements, none side by side, and with gaps where the
// convolution has strides. That of the input, where there are strides, adds up.
#ifndef MESHWRIGHT_COST_CONVOLUTION_WINDOWS_H_
#define MESHWRIGHT_COST_CONVOLUTION_WINDOWS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "meshwright/hlo/instruction.h"

namespace meshwright {

struct ConvolutionWindows {
  double elements = 0;
  double side_by_side = 1;
  bool gaps = false;  // Between the elements of a window.
};

// With arrays of these sizes; without elements for what is no convolution.
ConvolutionWindows WindowsOf(const Instruction& convolution,
                             absl::Span<const int64_t> input,
                             absl::Span<const int64_t> kernel,
                             absl::Span<const int64_t> output);
// With its own.
ConvolutionWindows WindowsOf(const Instruction& convolution);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_CONVOLUTION_WINDOWS_H_
