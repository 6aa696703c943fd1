#include "meshwright/engine/buffer_shape.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace meshwright {
namespace {

int64_t SaturatingProduct(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    return std::numeric_limits<int64_t>::max();
  }
  return product;
}

}  // namespace

bool IsBufferType(ElementType type) {
  return IsArrayType(type) && type != ElementType::kS1 &&
         type != ElementType::kU1 && type != ElementType::kF6E3M2FN &&
         type != ElementType::kF6E2M3FN;
}

int64_t BufferShape::element_count() const {
  int64_t count = 1;
  for (const int64_t size : dimensions) {
    if (size <= 0) return 0;
    count = SaturatingProduct(count, size);
  }
  return count;
}

int64_t BufferShape::host_bytes() const {
  return SaturatingProduct(element_count(), HostBytes(type));
}

std::string BufferShape::ToString() const {
  return absl::StrCat(Name(type), "[", absl::StrJoin(dimensions, ","), "]");
}

}  // namespace meshwright
