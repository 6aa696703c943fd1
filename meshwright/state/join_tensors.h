// Slices of tensors along a dimension, and their concatenation.
#ifndef MESHWRIGHT_STATE_JOIN_TENSORS_H_
#define MESHWRIGHT_STATE_JOIN_TENSORS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

// [begin, end) of a dimension. Requires: the tensor has a type.
Tensor SliceTensor(const Tensor& tensor, int64_t dimension, int64_t begin,
                   int64_t end);

// The inverse; takes the name of the first. Requires: at least one part; they
// differ in this dimension only.
Tensor JoinTensors(absl::Span<const Tensor> parts, int64_t dimension);

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_JOIN_TENSORS_H_
