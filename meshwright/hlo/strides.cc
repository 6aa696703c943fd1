#include "meshwright/hlo/strides.h"

namespace meshwright::internal {

std::optional<std::vector<int64_t>> Strides(const Shape& shape) {
  std::vector<int64_t> strides(shape.dimensions.size(), 0);
  int64_t stride = 1;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    int64_t dim = shape.rank() - 1 - i;
    if (shape.layout.has_value()) {
      const std::vector<int64_t>& order = shape.layout->minor_to_major;
      if (std::ssize(order) != shape.rank()) return std::nullopt;
      dim = order[i];
    }
    if (dim < 0 || dim >= shape.rank() || strides[dim] != 0) {
      return std::nullopt;
    }
    strides[dim] = stride;
    stride *= shape.dimensions[dim];
  }
  return strides;
}

}  // namespace meshwright::internal
