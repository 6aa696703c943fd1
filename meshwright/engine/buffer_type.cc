#include "meshwright/engine/buffer_type.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace meshwright {
namespace {

struct TypeFacts {
  absl::string_view name = "invalid";
  int host_bytes = 0;
};

TypeFacts FactsOf(BufferType type) {
  switch (type) {
    case BufferType::kInvalid:
      return {};
    case BufferType::kPred:
      return {"pred", 1};
    case BufferType::kS2:
      return {"s2", 1};
    case BufferType::kS4:
      return {"s4", 1};
    case BufferType::kS8:
      return {"s8", 1};
    case BufferType::kS16:
      return {"s16", 2};
    case BufferType::kS32:
      return {"s32", 4};
    case BufferType::kS64:
      return {"s64", 8};
    case BufferType::kU2:
      return {"u2", 1};
    case BufferType::kU4:
      return {"u4", 1};
    case BufferType::kU8:
      return {"u8", 1};
    case BufferType::kU16:
      return {"u16", 2};
    case BufferType::kU32:
      return {"u32", 4};
    case BufferType::kU64:
      return {"u64", 8};
    case BufferType::kF4E2M1FN:
      return {"f4e2m1fn", 1};
    case BufferType::kF8E3M4:
      return {"f8e3m4", 1};
    case BufferType::kF8E4M3:
      return {"f8e4m3", 1};
    case BufferType::kF8E4M3FN:
      return {"f8e4m3fn", 1};
    case BufferType::kF8E4M3B11FNUZ:
      return {"f8e4m3b11fnuz", 1};
    case BufferType::kF8E4M3FNUZ:
      return {"f8e4m3fnuz", 1};
    case BufferType::kF8E5M2:
      return {"f8e5m2", 1};
    case BufferType::kF8E5M2FNUZ:
      return {"f8e5m2fnuz", 1};
    case BufferType::kF8E8M0FNU:
      return {"f8e8m0fnu", 1};
    case BufferType::kF16:
      return {"f16", 2};
    case BufferType::kBF16:
      return {"bf16", 2};
    case BufferType::kF32:
      return {"f32", 4};
    case BufferType::kF64:
      return {"f64", 8};
    case BufferType::kC64:
      return {"c64", 8};
    case BufferType::kC128:
      return {"c128", 16};
    case BufferType::kToken:
      return {"token", 0};
  }
  return {};  // A number that came in by a cast.
}

int64_t SaturatingProduct(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    return std::numeric_limits<int64_t>::max();
  }
  return product;
}

}  // namespace

absl::string_view BufferTypeName(BufferType type) { return FactsOf(type).name; }

int64_t HostBytesPerElement(BufferType type) {
  return FactsOf(type).host_bytes;
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
  return SaturatingProduct(element_count(), HostBytesPerElement(type));
}

std::string BufferShape::ToString() const {
  return absl::StrCat(BufferTypeName(type), "[", absl::StrJoin(dimensions, ","),
                      "]");
}

}  // namespace meshwright
