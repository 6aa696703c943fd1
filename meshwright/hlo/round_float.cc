#include "meshwright/hlo/round_float.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "meshwright/hlo/float_format.h"

namespace meshwright::internal {
namespace {

int MagnitudeBits(const FloatFormat& format) {
  return format.exponent_bits + format.mantissa_bits;
}

uint64_t AllOnes(int bits) { return (uint64_t{1} << bits) - 1; }

// The bits of infinity, if the format has one.
uint64_t LargestExponent(const FloatFormat& format) {
  return AllOnes(format.exponent_bits) << format.mantissa_bits;
}

uint64_t LargestFinite(const FloatFormat& format) {
  switch (format.non_finite) {
    case NonFinite::kIeee:
      return LargestExponent(format) - 1;
    case NonFinite::kAllOnes:
      return AllOnes(MagnitudeBits(format)) - 1;
    case NonFinite::kNegativeZero:
    case NonFinite::kNone:
      break;
  }
  return AllOnes(MagnitudeBits(format));
}

uint64_t SignBit(const FloatFormat& format, bool negative) {
  return negative ? uint64_t{1} << MagnitudeBits(format) : 0;
}

// Rounds a positive number. Rounding up to the next power of two carries into
// the exponent by itself.
uint64_t RoundMagnitude(const FloatFormat& format, double magnitude) {
  // Without a mantissa there are no subnormal numbers.
  const int least = format.mantissa_bits == 0 ? 0 : 1;
  const int exponent = std::max(std::ilogb(magnitude), least - format.bias);
  const double units =
      std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  const uint64_t hidden = uint64_t{1} << format.mantissa_bits;
  const auto biased = static_cast<uint64_t>(exponent + format.bias);
  return (biased << format.mantissa_bits) + static_cast<uint64_t>(units) -
         hidden;
}

}  // namespace

std::optional<uint64_t> RoundToBits(ElementType type, double value) {
  if (type == ElementType::kF64) return std::bit_cast<uint64_t>(value);
  const FloatFormat format = FloatFormatOf(type);
  const bool negative = std::signbit(value);
  if (negative && !format.has_sign) return std::nullopt;
  const uint64_t sign = SignBit(format, negative);
  if (std::isinf(value)) {
    if (format.non_finite != NonFinite::kIeee) return std::nullopt;
    return sign | LargestExponent(format);
  }
  if (value == 0) {
    if (format.mantissa_bits == 0) return std::nullopt;
    return format.non_finite == NonFinite::kNegativeZero ? 0 : sign;
  }
  const uint64_t bits = RoundMagnitude(format, std::fabs(value));
  if (bits > LargestFinite(format)) return std::nullopt;
  if (bits == 0 && format.non_finite == NonFinite::kNegativeZero) return 0;
  return sign | bits;
}

std::optional<uint64_t> NanBits(ElementType type, bool negative,
                                uint64_t mantissa) {
  const FloatFormat format = FloatFormatOf(type);
  const uint64_t sign = SignBit(format, negative && format.has_sign);
  switch (format.non_finite) {
    case NonFinite::kIeee:
      if (mantissa > AllOnes(format.mantissa_bits)) return std::nullopt;
      if (mantissa == 0) mantissa = uint64_t{1} << (format.mantissa_bits - 1);
      return sign | LargestExponent(format) | mantissa;
    case NonFinite::kAllOnes:
      return sign | AllOnes(MagnitudeBits(format));
    case NonFinite::kNegativeZero:
      return SignBit(format, true);
    case NonFinite::kNone:
      break;
  }
  return std::nullopt;
}

}  // namespace meshwright::internal
