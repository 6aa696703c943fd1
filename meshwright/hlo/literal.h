// A constant's value: raw little-endian elements in the order of its layout.
//
//   Literal one = Literal::Scalar(1.0f);
//   one.Values<float>()[0];   // 1
//
// Sub-byte types take one byte per element, pred one byte.
#ifndef MESHWRIGHT_HLO_LITERAL_H_
#define MESHWRIGHT_HLO_LITERAL_H_

#include <cstring>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "meshwright/hlo/shape.h"

namespace meshwright {

struct Literal {
  Shape shape;
  std::string data;            // ElementCount * HostBytes bytes.
  std::vector<Literal> tuple;  // For tuple shapes.
  std::string unknown_fields;

  static Literal Scalar(float value);
  static Literal Scalar(int32_t value);
  static Literal Scalar(bool value);

  // The elements as T. Requires: sizeof(T) is the element's host size.
  template <typename T>
  absl::Span<const T> Values() const {
    return absl::MakeConstSpan(reinterpret_cast<const T*>(data.data()),
                               data.size() / sizeof(T));
  }

  // Element `index`, in the literal's own order, as a double (complex: the real
  // part). Integers above 2^53 are rounded.
  double ElementAsDouble(int64_t index) const;
  // Element `index` of an integer or pred literal.
  int64_t ElementAsInteger(int64_t index) const;

  bool operator==(const Literal&) const = default;
};

// The value of an f16, bf16, f8, f6 or f4 bit pattern.
double SmallFloatToDouble(ElementType type, uint16_t bits);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_LITERAL_H_
