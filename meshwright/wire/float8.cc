#include "meshwright/wire/float8.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meshwright::internal {

Float8::Float8(int mantissa_bits, int bias, Family family)
    : mantissa_bits_(mantissa_bits), bias_(bias), family_(family) {
  const int first_special = 0x7f & ~((1 << mantissa_bits) - 1);
  largest_ = static_cast<uint8_t>(family == Family::kIeee ? first_special - 1
                                  : family == Family::kFn ? 0x7e
                                                          : 0x7f);
  for (int bits = 0; bits < 256; ++bits) values_[bits] = DecodeSlowly(bits);
}

float Float8::DecodeSlowly(int bits) const {
  const int magnitude = bits & 0x7f;
  const float sign = bits >= 0x80 ? -1.0f : 1.0f;
  if (family_ == Family::kFnuz && bits == 0x80) return std::nanf("");
  if (magnitude > largest_) {
    const bool infinite = family_ == Family::kIeee && magnitude == largest_ + 1;
    return sign *
           (infinite ? std::numeric_limits<float>::infinity() : std::nanf(""));
  }
  const int exponent = magnitude >> mantissa_bits_;
  const int mantissa = magnitude & ((1 << mantissa_bits_) - 1);
  const int whole = exponent == 0 ? mantissa : mantissa | 1 << mantissa_bits_;
  return sign * std::ldexp(static_cast<float>(whole),
                           std::max(exponent, 1) - bias_ - mantissa_bits_);
}

const Float8* Float8Of(ElementType type) {
  using Family = Float8::Family;
  static const auto* const kF8E5M2 = new Float8(2, 15, Family::kIeee);
  static const auto* const kF8E4M3 = new Float8(3, 7, Family::kIeee);
  static const auto* const kF8E3M4 = new Float8(4, 3, Family::kIeee);
  static const auto* const kF8E4M3FN = new Float8(3, 7, Family::kFn);
  static const auto* const kF8E5M2FNUZ = new Float8(2, 16, Family::kFnuz);
  static const auto* const kF8E4M3FNUZ = new Float8(3, 8, Family::kFnuz);
  static const auto* const kF8E4M3B11FNUZ = new Float8(3, 11, Family::kFnuz);
  switch (type) {
    case ElementType::kF8E5M2:
      return kF8E5M2;
    case ElementType::kF8E4M3:
      return kF8E4M3;
    case ElementType::kF8E3M4:
      return kF8E3M4;
    case ElementType::kF8E4M3FN:
      return kF8E4M3FN;
    case ElementType::kF8E5M2FNUZ:
      return kF8E5M2FNUZ;
    case ElementType::kF8E4M3FNUZ:
      return kF8E4M3FNUZ;
    case ElementType::kF8E4M3B11FNUZ:
      return kF8E4M3B11FNUZ;
    default:
      return nullptr;
  }
}

}  // namespace meshwright::internal
