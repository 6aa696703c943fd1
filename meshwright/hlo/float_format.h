// The bit formats of floating-point element types.
#ifndef MESHWRIGHT_HLO_FLOAT_FORMAT_H_
#define MESHWRIGHT_HLO_FLOAT_FORMAT_H_

#include <cstdint>

#include "meshwright/base/element_type.h"

namespace meshwright::internal {

// Which bit patterns are not finite numbers.
enum class NonFinite {
  kIeee,          // Largest exponent: infinity, and NaN with a payload.
  kAllOnes,       // Only NaN, all ones after the sign ("fn").
  kNegativeZero,  // Only NaN, where -0 would be ("fnuz").
  kNone,          // Every pattern is a number.
};

struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  NonFinite non_finite;
  bool has_sign = true;
};

// Requires: IsFloating(type).
FloatFormat FloatFormatOf(ElementType type);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_FLOAT_FORMAT_H_
