#include "meshwright/cost/convolution_windows.h"

#include <algorithm>

namespace meshwright {
namespace {

double Product(absl::Span<const int64_t> sizes,
               absl::Span<const int64_t> dimensions) {
  double product = 1;
  for (const int64_t dimension : dimensions) {
    product *= static_cast<double>(sizes[dimension]);
  }
  return product;
}

}  // namespace

ConvolutionWindows WindowsOf(const Instruction& convolution,
                             absl::Span<const int64_t> input,
                             absl::Span<const int64_t> kernel,
                             absl::Span<const int64_t> output) {
  const Attributes& attributes = *convolution.attributes;
  if (convolution.opcode != Opcode::kConvolution || !attributes.convolution ||
      !attributes.window || attributes.window->dimensions.empty()) {
    return {};
  }
  const ConvolutionDimensionNumbers& numbers = *attributes.convolution;
  const std::vector<WindowDimension>& window = attributes.window->dimensions;
  const auto any = [&](auto has) {
    return std::any_of(window.begin(), window.end(), has);
  };
  const auto size = [](absl::Span<const int64_t> sizes, int64_t dimension) {
    return static_cast<double>(sizes[dimension]);
  };
  const double channels = size(kernel, numbers.kernel_input_feature);
  const double filters = size(kernel, numbers.kernel_output_feature);
  const double taps = Product(kernel, numbers.kernel_spatial);
  ConvolutionWindows windows;
  windows.gaps =
      any([](const WindowDimension& d) { return d.window_dilation > 1; });
  const bool spread =
      any([](const WindowDimension& d) { return d.base_dilation > 1; });
  const bool strides =
      any([](const WindowDimension& d) { return d.stride > 1; });
  if (spread && !windows.gaps && !strides &&
      attributes.feature_group_count <= 1) {
    // Each element of the input is multiplied by the whole kernel, and the
    // products are added to the output positions they belong to.
    windows.elements = size(input, numbers.input_batch) *
                       Product(input, numbers.input_spatial) * taps * filters;
    windows.side_by_side = filters;
    return windows;
  }
  windows.gaps = windows.gaps || spread;
  windows.elements = size(output, numbers.output_batch) *
                     Product(output, numbers.output_spatial) * taps *
                     size(input, numbers.input_feature);
  windows.side_by_side = channels;
  // Whole rows are contiguous.
  const WindowDimension& minor = window.back();
  if (!windows.gaps && minor.padding_low <= 0 && minor.padding_high <= 0 &&
      input[numbers.input_spatial.back()] ==
          kernel[numbers.kernel_spatial.back()]) {
    windows.side_by_side *= size(kernel, numbers.kernel_spatial.back());
  }
  return windows;
}

}  // namespace meshwright
