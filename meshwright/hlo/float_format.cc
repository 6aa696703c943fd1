#include "meshwright/hlo/float_format.h"

#include "meshwright/base/check.h"

namespace meshwright::internal {

FloatFormat FloatFormatOf(ElementType type) {
  switch (type) {
    case ElementType::kF64:
      return {11, 52, 1023, NonFinite::kIeee};
    case ElementType::kF32:
      return {8, 23, 127, NonFinite::kIeee};
    case ElementType::kF16:
      return {5, 10, 15, NonFinite::kIeee};
    case ElementType::kBF16:
      return {8, 7, 127, NonFinite::kIeee};
    case ElementType::kF8E5M2:
      return {5, 2, 15, NonFinite::kIeee};
    case ElementType::kF8E4M3:
      return {4, 3, 7, NonFinite::kIeee};
    case ElementType::kF8E3M4:
      return {3, 4, 3, NonFinite::kIeee};
    case ElementType::kF8E4M3FN:
      return {4, 3, 7, NonFinite::kAllOnes};
    case ElementType::kF8E4M3FNUZ:
      return {4, 3, 8, NonFinite::kNegativeZero};
    case ElementType::kF8E4M3B11FNUZ:
      return {4, 3, 11, NonFinite::kNegativeZero};
    case ElementType::kF8E5M2FNUZ:
      return {5, 2, 16, NonFinite::kNegativeZero};
    case ElementType::kF8E8M0FNU:
      return {8, 0, 127, NonFinite::kAllOnes, /*has_sign=*/false};
    case ElementType::kF6E3M2FN:
      return {3, 2, 3, NonFinite::kNone};
    case ElementType::kF6E2M3FN:
      return {2, 3, 1, NonFinite::kNone};
    case ElementType::kF4E2M1FN:
      return {2, 1, 1, NonFinite::kNone};
    default:
      MW_CHECK(false) << Name(type) << " is not a floating type";
      return {};
  }
}

}  // namespace meshwright::internal
