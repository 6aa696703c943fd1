#include "meshwright/crossing/block_view.h"

#include <cstring>

#include "meshwright/base/check.h"

namespace meshwright {

void CopyBlock(const BlockView& from, const BlockView& to) {
  MW_CHECK(from.bytes() == to.bytes());
  if (from.bytes() == 0 || from.data == to.data) return;
  if (from.is_contiguous() && to.is_contiguous()) {
    std::memcpy(to.data, from.data, from.bytes());
    return;
  }
  const BlockView& rows = from.is_contiguous() ? to : from;
  const int64_t from_stride =
      from.is_contiguous() ? rows.row_bytes : from.stride;
  const int64_t to_stride = to.is_contiguous() ? rows.row_bytes : to.stride;
  for (int64_t row = 0; row < rows.rows; ++row) {
    std::memcpy(to.data + row * to_stride, from.data + row * from_stride,
                rows.row_bytes);
  }
}

}  // namespace meshwright
