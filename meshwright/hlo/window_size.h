// The number of positions of a sliding window along each dimension.
//
//   base 8, window {size 3, stride 2, padding 1_1}  ->  4
#ifndef MESHWRIGHT_HLO_WINDOW_SIZE_H_
#define MESHWRIGHT_HLO_WINDOW_SIZE_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "meshwright/hlo/dimension_numbers.h"

namespace meshwright {

// Fails if a size, stride or dilation is not positive, or a sum overflows. A
// window larger than the padded base has no position: 0.
absl::StatusOr<int64_t> WindowPlaces(int64_t base,
                                     const WindowDimension& window);

// `window`, or one without dimensions if the instruction has none.
const Window& WindowOrEmpty(const std::optional<Window>& window);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_WINDOW_SIZE_H_
