// A named array on the host.
//
//   "w", f32, {2, 3}, 24 bytes of data: w[0][0], w[0][1], ..., w[1][2]
#ifndef MESHWRIGHT_STATE_TENSOR_H_
#define MESHWRIGHT_STATE_TENSOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "meshwright/hlo/literal.h"
#include "meshwright/hlo/shape.h"

namespace meshwright {

struct Tensor {
  std::string name;
  // kInvalid: unknown; then an element has `raw_bytes` bytes, and Conform
  // determines the type.
  ElementType type = ElementType::kInvalid;
  std::vector<int64_t> dimensions;
  // Elements in row-major order, HostBytes(type) little-endian bytes each.
  std::string data;
  int64_t raw_bytes = 0;

  bool operator==(const Tensor&) const = default;
};

// The product of the dimensions and `element_bytes`; nullopt if a dimension is
// negative or the product overflows.
std::optional<int64_t> CheckedBytes(absl::Span<const int64_t> dimensions,
                                    int64_t element_bytes);

// Makes `tensor` fit `expected`, an array shape: gives raw bytes their type,
// converts between integer types if every value fits, and f64 to f32.
// kInvalidArgument, naming the tensor and both shapes, if types or dimensions
// do not match.
absl::Status Conform(const Shape& expected, Tensor& tensor);

// For reading single elements. Requires: its type is known.
Literal AsLiteral(const Tensor& tensor);

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_TENSOR_H_
