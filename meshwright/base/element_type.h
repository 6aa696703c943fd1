// Element types of HLO arrays, numbered as XLA's PrimitiveType.
//
//   Name(ElementType::kBF16);      // "bf16"
//   BitWidth(ElementType::kS4);    // 4
//   HostBytes(ElementType::kS4);   // 1: literals store a byte per element
#ifndef MESHWRIGHT_BASE_ELEMENT_TYPE_H_
#define MESHWRIGHT_BASE_ELEMENT_TYPE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace meshwright {

enum class ElementType : uint8_t {
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
  kTuple = 13,
  kOpaque = 14,
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
  kS1 = 30,
  kU1 = 31,
  kF4E2M1FN = 32,
  kF8E8M0FNU = 33,
  kBuffer = 34,
  kF6E3M2FN = 35,
  kF6E2M3FN = 36,
};

// The type with XLA's number, or nullopt for a number we do not know.
std::optional<ElementType> ElementTypeFromNumber(int64_t number);

// "f32", "pred", "token"; ParseElementType is the inverse.
absl::string_view Name(ElementType type);
std::optional<ElementType> ParseElementType(absl::string_view name);

// Bits of one element; 0 for tuple, token, opaque and buffer.
int64_t BitWidth(ElementType type);
// Bytes of one element on the host, where sub-byte types take a whole byte.
int64_t HostBytes(ElementType type);

bool IsArrayType(ElementType type);  // Has elements.
bool IsFloating(ElementType type);   // Includes bf16, f8, f6, f4.
bool IsComplex(ElementType type);
inline bool IsFloatingOrComplex(ElementType type) {
  return IsFloating(type) || IsComplex(type);
}
bool IsSignedInteger(ElementType type);
bool IsUnsignedInteger(ElementType type);
inline bool IsInteger(ElementType type) {
  return IsSignedInteger(type) || IsUnsignedInteger(type);
}

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_ELEMENT_TYPE_H_
