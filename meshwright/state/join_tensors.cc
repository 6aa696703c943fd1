#include "meshwright/state/join_tensors.h"

namespace meshwright {
namespace {

// A row-major array that is split along one dimension: `rows` runs of (size of
// the dimension) * `bytes` each.
struct Rows {
  int64_t rows = 1;
  int64_t bytes = 1;
};

Rows RowsOf(const Tensor& tensor, int64_t dimension) {
  Rows rows{.bytes = HostBytes(tensor.type)};
  for (int64_t d = 0; d < std::ssize(tensor.dimensions); ++d) {
    if (d < dimension) rows.rows *= tensor.dimensions[d];
    if (d > dimension) rows.bytes *= tensor.dimensions[d];
  }
  return rows;
}

}  // namespace

Tensor SliceTensor(const Tensor& tensor, int64_t dimension, int64_t begin,
                   int64_t end) {
  const Rows rows = RowsOf(tensor, dimension);
  const int64_t row = tensor.dimensions[dimension] * rows.bytes;
  Tensor part{.name = tensor.name,
              .type = tensor.type,
              .dimensions = tensor.dimensions};
  part.dimensions[dimension] = end - begin;
  part.data.reserve(rows.rows * (end - begin) * rows.bytes);
  for (int64_t i = 0; i < rows.rows; ++i) {
    part.data.append(tensor.data, i * row + begin * rows.bytes,
                     (end - begin) * rows.bytes);
  }
  return part;
}

Tensor JoinTensors(absl::Span<const Tensor> parts, int64_t dimension) {
  if (parts.size() == 1) return parts[0];
  const Rows rows = RowsOf(parts[0], dimension);
  Tensor whole{.name = parts[0].name,
               .type = parts[0].type,
               .dimensions = parts[0].dimensions};
  whole.dimensions[dimension] = 0;
  for (const Tensor& part : parts) {
    whole.dimensions[dimension] += part.dimensions[dimension];
  }
  for (int64_t i = 0; i < rows.rows; ++i) {
    for (const Tensor& part : parts) {
      const int64_t row = part.dimensions[dimension] * rows.bytes;
      whole.data.append(part.data, i * row, row);
    }
  }
  return whole;
}

}  // namespace meshwright
