// A part of a row-major array, restricted along one dimension.
//
// Columns 2 and 3 of an f32[3,6] are three rows of 8 bytes, 24 bytes apart:
//
//   BlockView{.data = array + 8, .rows = 3, .stride = 24, .row_bytes = 8}
#ifndef MESHWRIGHT_CROSSING_BLOCK_VIEW_H_
#define MESHWRIGHT_CROSSING_BLOCK_VIEW_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace meshwright {

struct BlockView {
  std::byte* data = nullptr;
  int64_t rows = 0;
  int64_t stride = 0;
  int64_t row_bytes = 0;

  int64_t bytes() const { return rows * row_bytes; }
  bool is_contiguous() const { return rows <= 1 || stride == row_bytes; }
  // Requires: is_contiguous().
  absl::Span<std::byte> span() const {
    return {data, static_cast<size_t>(bytes())};
  }
};

// Contiguous bytes, seen as rows.
inline BlockView DenseBlock(std::byte* data, int64_t rows, int64_t row_bytes) {
  return {data, rows, row_bytes, row_bytes};
}

// Requires: equal bytes(); equal rows if neither is contiguous.
void CopyBlock(const BlockView& from, const BlockView& to);

}  // namespace meshwright

#endif  // MESHWRIGHT_CROSSING_BLOCK_VIEW_H_
