// The positions of an array's elements in its data.
#ifndef MESHWRIGHT_HLO_STRIDES_H_
#define MESHWRIGHT_HLO_STRIDES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "meshwright/hlo/shape.h"

namespace meshwright::internal {

// By dimension, the distance of neighbours in elements. nullopt if the layout
// is not a permutation of the dimensions. Requires: the element count does not
// overflow.
std::optional<std::vector<int64_t>> Strides(const Shape& shape);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_STRIDES_H_
