// Where the elements of an array are in its data.
//
//   f32[2,3]{1,0}: strides {3, 1}    f32[2,3]{0,1}: strides {1, 2}
#ifndef MESHWRIGHT_HLO_STRIDES_H_
#define MESHWRIGHT_HLO_STRIDES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "meshwright/hlo/shape.h"

namespace meshwright::internal {

// How far apart, in elements, neighbours along each dimension are. Nothing if
// the layout is not a permutation of the dimensions. Requires: the element
// count does not overflow.
std::optional<std::vector<int64_t>> Strides(const Shape& shape);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_STRIDES_H_
