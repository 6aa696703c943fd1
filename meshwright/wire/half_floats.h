// bf16 and f16 to float and back, ties to even, in steps that vectorise.
#ifndef MESHWRIGHT_WIRE_HALF_FLOATS_H_
#define MESHWRIGHT_WIRE_HALF_FLOATS_H_

#include <bit>
#include <cstdint>

namespace meshwright::internal {

inline float FromBf16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

inline uint16_t ToBf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
  // Rounding would carry a NaN's mantissa into the sign.
  const uint32_t nan = bits | 0x400000;
  return static_cast<uint16_t>((value != value ? nan : rounded) >> 16);
}

inline float FromF16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(bits & 0x7fff) << 13;
  // A subnormal, put behind 2^-14, is what is left when that is taken away.
  const float behind = std::bit_cast<float>(magnitude + 0x38800000);
  const auto subnormal = std::bit_cast<uint32_t>(behind - 0x1p-14f);
  const uint32_t normal = magnitude + 0x38000000;
  uint32_t result = magnitude < 0x00800000 ? subnormal : normal;
  result = magnitude >= 0x0f800000 ? magnitude | 0x7f800000 : result;
  return std::bit_cast<float>(sign | result);
}

inline uint16_t ToF16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  // Below 2^-14: adding 0.5 leaves the subnormal's bits, rounded, at the end.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
  const uint32_t subnormal = std::bit_cast<uint32_t>(shifted) - 0x3f000000;
  const uint32_t normal =
      (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  uint32_t result = magnitude < 0x38800000 ? subnormal : normal;
  result = magnitude >= 0x477ff000 ? 0x7c00 : result;
  result = magnitude > 0x7f800000 ? 0x7e00 : result;
  return static_cast<uint16_t>(sign | result);
}

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_WIRE_HALF_FLOATS_H_
