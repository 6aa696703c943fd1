// Rounds numbers to the bits of a floating-point element type.
#ifndef MESHWRIGHT_HLO_ROUND_FLOAT_H_
#define MESHWRIGHT_HLO_ROUND_FLOAT_H_

#include <cstdint>
#include <optional>

#include "meshwright/base/element_type.h"

namespace meshwright::internal {

// The nearest value of the type, ties to even; nullopt if `value` is beyond
// its largest, or of a kind that the type does not have (infinity, 0 in
// f8e8m0fnu). Requires: IsFloating(type), value is not NaN.
std::optional<uint64_t> RoundToBits(ElementType type, double value);

// A NaN with this mantissa, or the usual one for 0; types with only one NaN
// have that. nullopt if the mantissa is too large or the type has none.
std::optional<uint64_t> NanBits(ElementType type, bool negative,
                                uint64_t mantissa);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_ROUND_FLOAT_H_
