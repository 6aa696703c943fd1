// Conversion between 8-bit floating-point types and float.
//
//   const Float8* kind = Float8Of(ElementType::kF8E4M3FN);
//   kind->Decode(0x38);   // 1.0
//   kind->Encode(500);    // NaN: the largest is 448, and there is no infinity
#ifndef MESHWRIGHT_WIRE_FLOAT8_H_
#define MESHWRIGHT_WIRE_FLOAT8_H_

#include <array>
#include <bit>
#include <cstdint>

#include "meshwright/base/element_type.h"

namespace meshwright::internal {

class Float8 {
 public:
  // kIeee has infinities; kFn has none and one NaN of each sign; kFnuz has
  // neither infinities nor a negative zero, whose bits are its NaN.
  enum class Family : uint8_t { kIeee, kFn, kFnuz };
  Float8(int mantissa_bits, int bias, Family family);

  float Decode(uint8_t bits) const { return values_[bits]; }
  // Rounds to nearest, ties to even; beyond the largest value: infinity, or NaN
  // if there is none.
  uint8_t Encode(float value) const;

 private:
  float DecodeSlowly(int bits) const;

  int mantissa_bits_;
  int bias_;
  Family family_;
  uint8_t largest_;  // Bits of the largest finite value.
  std::array<float, 256> values_;
};

inline uint8_t Float8::Encode(float value) const {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 24) & 0x80;
  const uint32_t magnitude = bits & 0x7fffffff;
  // Adding this leaves a subnormal's bits, rounded, at the end.
  const float behind =
      std::bit_cast<float>((151u - bias_ - mantissa_bits_) << 23);
  const float shifted = std::bit_cast<float>(magnitude) + behind;
  const uint32_t subnormal =
      std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(behind);
  const int drop = 23 - mantissa_bits_;
  const uint32_t half = (1u << (drop - 1)) - 1 + ((magnitude >> drop) & 1);
  const uint32_t normal = (magnitude - ((127u - bias_) << 23) + half) >> drop;
  const bool is_normal = magnitude >= (128u - bias_) << 23;
  uint32_t result = is_normal ? normal : subnormal;
  const bool fnuz = family_ == Family::kFnuz;
  // NaNs are the largest numbers when seen as integers.
  if (result > largest_) {
    const bool infinite = family_ == Family::kIeee && magnitude <= 0x7f800000;
    result = infinite ? largest_ + 1u : 0x7f;
    return static_cast<uint8_t>(fnuz ? 0x80 : sign | result);
  }
  return static_cast<uint8_t>(fnuz && result == 0 ? 0 : sign | result);
}

// Null for types that are none, and for f8e8m0fnu, which has no sign.
const Float8* Float8Of(ElementType type);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_WIRE_FLOAT8_H_
