#include "meshwright/hlo/literal.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "meshwright/hlo/float_format.h"

namespace meshwright {
namespace {

using internal::FloatFormat;
using internal::NonFinite;

template <typename T>
Literal ScalarOf(ElementType type, T value) {
  Literal literal;
  literal.shape = Shape::Scalar(type);
  literal.shape.layout.emplace();
  literal.data.assign(reinterpret_cast<const char*>(&value), sizeof(value));
  return literal;
}

// The bytes of element `index` as one number; 0 if the data ends before it. For
// complex elements, the real part.
uint64_t Bits(const Literal& literal, int64_t index) {
  const ElementType type = literal.shape.element_type;
  const size_t step = static_cast<size_t>(HostBytes(type));
  const size_t width = IsComplex(type) ? step / 2 : step;
  if (width == 0 || index < 0) return 0;
  const size_t available = literal.data.size() / step;
  if (static_cast<size_t>(index) >= available) return 0;
  uint64_t bits = 0;
  std::memcpy(&bits, literal.data.data() + index * step, width);
  return bits;
}

// For formats of at most 16 bits.
bool IsNan(const FloatFormat& format, uint32_t magnitude, bool negative) {
  const uint32_t exponent = magnitude >> format.mantissa_bits;
  const uint32_t mantissa = magnitude & ((1u << format.mantissa_bits) - 1);
  const uint32_t all_ones =
      (1u << (format.exponent_bits + format.mantissa_bits)) - 1;
  switch (format.non_finite) {
    case NonFinite::kIeee:
      return exponent == (1u << format.exponent_bits) - 1 && mantissa != 0;
    case NonFinite::kAllOnes:
      return magnitude == all_ones;
    case NonFinite::kNegativeZero:
      return negative && magnitude == 0;
    case NonFinite::kNone:
      return false;
  }
  return false;
}

double Magnitude(const FloatFormat& format, uint32_t magnitude) {
  const int exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  const uint32_t mantissa = magnitude & ((1u << format.mantissa_bits) - 1);
  if (format.non_finite == NonFinite::kIeee &&
      exponent == (1 << format.exponent_bits) - 1) {
    return std::numeric_limits<double>::infinity();
  }
  // e8m0 has no mantissa and no subnormal numbers.
  const bool subnormal = exponent == 0 && format.mantissa_bits > 0;
  const uint32_t hidden = subnormal ? 0 : 1u << format.mantissa_bits;
  return std::ldexp(hidden + mantissa, (subnormal ? 1 : exponent) -
                                           format.bias - format.mantissa_bits);
}

}  // namespace

Literal Literal::Scalar(float value) {
  return ScalarOf(ElementType::kF32, value);
}

Literal Literal::Scalar(int32_t value) {
  return ScalarOf(ElementType::kS32, value);
}

Literal Literal::Scalar(bool value) {
  return ScalarOf(ElementType::kPred, static_cast<uint8_t>(value));
}

int64_t Literal::ElementAsInteger(int64_t index) const {
  const uint64_t bits = Bits(*this, index);
  const ElementType type = shape.element_type;
  if (type == ElementType::kPred) return bits != 0;
  if (!IsInteger(type)) return 0;
  const int64_t unused = 64 - BitWidth(type);
  // Shifting out and back drops the padding bits of sub-byte types.
  if (IsSignedInteger(type)) {
    return static_cast<int64_t>(bits << unused) >> unused;
  }
  return static_cast<int64_t>(bits << unused >> unused);
}

double Literal::ElementAsDouble(int64_t index) const {
  const ElementType type = shape.element_type;
  const uint64_t bits = Bits(*this, index);
  switch (type) {
    case ElementType::kF64:
    case ElementType::kC128:
      return std::bit_cast<double>(bits);
    case ElementType::kF32:
    case ElementType::kC64:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case ElementType::kU64:
      return static_cast<double>(bits);
    default:
      break;
  }
  if (IsFloating(type)) {
    return SmallFloatToDouble(type, static_cast<uint16_t>(bits));
  }
  return static_cast<double>(ElementAsInteger(index));
}

double SmallFloatToDouble(ElementType type, uint16_t bits) {
  const FloatFormat format = internal::FloatFormatOf(type);
  const int magnitude_bits = format.exponent_bits + format.mantissa_bits;
  const uint32_t magnitude = bits & ((1u << magnitude_bits) - 1);
  const bool negative = format.has_sign && ((bits >> magnitude_bits) & 1) != 0;
  const double value = IsNan(format, magnitude, negative)
                           ? std::numeric_limits<double>::quiet_NaN()
                           : Magnitude(format, magnitude);
  return negative ? -value : value;
}

}  // namespace meshwright
