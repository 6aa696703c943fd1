// The type of an HLO value: an array, a tuple of shapes, or a token.
//
//   Shape s = Shape::Array(ElementType::kF32, {8, 128});
//   s.ToString();        // "f32[8,128]"
//   ElementCount(s);     // 1024
//   ByteSize(s);         // 4096
#ifndef MESHWRIGHT_HLO_SHAPE_H_
#define MESHWRIGHT_HLO_SHAPE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/base/element_type.h"

namespace meshwright {

// The memory layout of an array; absent means row-major.
struct Layout {
  std::vector<int64_t> minor_to_major;
  std::vector<std::vector<int64_t>> tiles;
  int64_t element_size_in_bits = 0;
  int64_t memory_space = 0;
  std::string unknown_fields;

  bool operator==(const Layout&) const = default;
};

struct Shape {
  ElementType element_type = ElementType::kInvalid;
  std::vector<int64_t> dimensions;
  std::vector<bool> dynamic_dimensions;  // Empty: all static.
  std::vector<Shape> tuple_shapes;
  std::optional<Layout> layout;
  std::string unknown_fields;

  static Shape Array(ElementType type, std::vector<int64_t> dimensions);
  static Shape Scalar(ElementType type) { return Array(type, {}); }
  static Shape Tuple(std::vector<Shape> shapes);
  static Shape Token();

  bool IsArray() const { return IsArrayType(element_type); }
  bool IsTuple() const { return element_type == ElementType::kTuple; }
  bool IsScalar() const { return IsArray() && dimensions.empty(); }
  int64_t rank() const { return static_cast<int64_t>(dimensions.size()); }

  // "f32[8,128]", "(s32[], bf16[4])"; with layouts "f32[8,128]{1,0}".
  std::string ToString(bool with_layout = false) const;

  bool operator==(const Shape&) const = default;
};

// Equal types and dimensions; layouts and dynamic dimensions are ignored.
bool Compatible(const Shape& a, const Shape& b);
// As Compatible, but floating element types may differ.
bool CompatibleIgnoringPrecision(const Shape& a, const Shape& b);
bool SameDimensions(const Shape& a, const Shape& b);

// Elements of an array shape. Requires: IsValid(shape).
int64_t ElementCount(const Shape& shape);
// Bytes on the device, tuples summed; sub-byte types are packed.
int64_t ByteSize(const Shape& shape);

// False if a dimension is negative, the total size overflows int64, tuples
// have dimensions, or the layout is not a permutation; `why` says which.
bool IsValid(const Shape& shape, std::string* why);

// The leaf arrays (and tokens) of a shape, in order; an array is its own leaf.
std::vector<const Shape*> Leaves(const Shape& shape);
// How many there are.
int32_t LeafCount(const Shape& shape);
// Those of the elements of a tuple before this one.
int32_t LeavesBefore(const Shape& tuple, int64_t element);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_SHAPE_H_
