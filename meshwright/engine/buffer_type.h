// Element types and shapes of the arrays that devices hold.
//
//   const BufferShape shape{BufferType::kF32, {2, 3}};
//   shape.ToString();    // "f32[2,3]"
//   shape.host_bytes();  // 24
//
// The numbers of BufferType are those of XLA's PrimitiveType, so the element
// type of an HLO shape converts with a static_cast in either direction.
#ifndef MESHWRIGHT_ENGINE_BUFFER_TYPE_H_
#define MESHWRIGHT_ENGINE_BUFFER_TYPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace meshwright {

enum class BufferType : int {
  kInvalid = 0,
  kPred = 1,
  kS8 = 2,
  kS16 = 3,
  kS32 = 4,
  kS64 = 5,
  kU8 = 6,
  kU16 = 7,
  kU32 = 8,
  kU64 = 9,
  kF16 = 10,
  kF32 = 11,
  kF64 = 12,
  kC64 = 15,
  kBF16 = 16,
  kToken = 17,
  kC128 = 18,
  kF8E5M2 = 19,
  kF8E4M3FN = 20,
  kS4 = 21,
  kU4 = 22,
  kF8E4M3B11FNUZ = 23,
  kF8E5M2FNUZ = 24,
  kF8E4M3FNUZ = 25,
  kS2 = 26,
  kU2 = 27,
  kF8E4M3 = 28,
  kF8E3M4 = 29,
  kF4E2M1FN = 32,
  kF8E8M0FNU = 33,
};

// "f32", "bf16", "f8e4m3fn"; "invalid" for numbers not listed above.
absl::string_view BufferTypeName(BufferType type);

// Bytes one element takes in host memory. Types narrower than a byte take a
// whole one there; 0 for kInvalid and kToken.
int64_t HostBytesPerElement(BufferType type);

struct BufferShape {
  BufferType type = BufferType::kInvalid;
  std::vector<int64_t> dimensions = {};

  // 1 for a scalar. Saturates at the largest int64_t, as does host_bytes().
  int64_t element_count() const;
  // Size of the array in host memory, dense and row-major.
  int64_t host_bytes() const;
  std::string ToString() const;

  bool operator==(const BufferShape&) const = default;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_ENGINE_BUFFER_TYPE_H_
