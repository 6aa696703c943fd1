// The 8-bit floating kinds to float and back.
//
//   const Float8* kind = Float8Of(ElementType::kF8E4M3FN);
//   kind->Decode(0x38);   // 1.0
//   kind->Encode(500);    // NaN: the largest is 448, and there is no infinity
#ifndef MESHWRIGHT_WIRE_FLOAT8_H_
#define MESHWRIGHT_WIRE_FLOAT8_H_

#include <array>
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
  // To nearest, ties to even; beyond the largest: infinity, or else NaN.
  uint8_t Encode(float value) const;

 private:
  float DecodeSlowly(int bits) const;

  int mantissa_bits_;
  int bias_;
  Family family_;
  uint8_t largest_;  // Bits of the largest finite value.
  std::array<float, 256> values_;
};

// Null for types that are none, and for f8e8m0fnu, which has no sign.
const Float8* Float8Of(ElementType type);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_WIRE_FLOAT8_H_
