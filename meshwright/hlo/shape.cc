#include "meshwright/hlo/shape.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/check.h"

namespace meshwright {
namespace {

// Appends the part in braces after the dimensions: "{1,0:T(8,128)}".
void AppendLayout(const Shape& shape, std::string* out) {
  const Layout& layout = *shape.layout;
  absl::StrAppend(out, "{", absl::StrJoin(layout.minor_to_major, ","));
  std::string extras;
  if (!layout.tiles.empty()) {
    absl::StrAppend(&extras, "T");
    for (const std::vector<int64_t>& tile : layout.tiles) {
      absl::StrAppend(&extras, "(", absl::StrJoin(tile, ","), ")");
    }
  }
  if (layout.element_size_in_bits != 0) {
    absl::StrAppend(&extras, "E(", layout.element_size_in_bits, ")");
  }
  if (layout.memory_space != 0) {
    absl::StrAppend(&extras, "S(", layout.memory_space, ")");
  }
  if (!extras.empty()) absl::StrAppend(out, ":", extras);
  absl::StrAppend(out, "}");
}

void AppendShape(const Shape& shape, bool with_layout, std::string* out) {
  if (shape.IsTuple()) {
    absl::StrAppend(out, "(");
    for (size_t i = 0; i < shape.tuple_shapes.size(); ++i) {
      if (i > 0) absl::StrAppend(out, ", ");
      AppendShape(shape.tuple_shapes[i], with_layout, out);
    }
    absl::StrAppend(out, ")");
    return;
  }
  absl::StrAppend(out, Name(shape.element_type), "[");
  for (int64_t dim = 0; dim < shape.rank(); ++dim) {
    const bool dynamic = dim < std::ssize(shape.dynamic_dimensions) &&
                         shape.dynamic_dimensions[dim];
    absl::StrAppend(out, dim > 0 ? "," : "", dynamic ? "<=" : "",
                    shape.dimensions[dim]);
  }
  absl::StrAppend(out, "]");
  const bool has_layout_text =
      shape.layout.has_value() &&
      (shape.rank() > 0 || shape.layout->memory_space != 0);
  if (with_layout && has_layout_text) AppendLayout(shape, out);
}

bool IsPermutation(const std::vector<int64_t>& values, int64_t size) {
  if (std::ssize(values) != size) return false;
  std::vector<bool> seen(size, false);
  for (const int64_t value : values) {
    if (value < 0 || value >= size || seen[value]) return false;
    seen[value] = true;
  }
  return true;
}

bool Fail(std::string* why, std::string message) {
  *why = std::move(message);
  return false;
}

// Adds the shape's bits to `total_bits`; false on overflow.
bool AddBits(const Shape& shape, int64_t* total_bits) {
  int64_t bits = BitWidth(shape.element_type);
  for (const int64_t size : shape.dimensions) {
    if (__builtin_mul_overflow(bits, size, &bits)) return false;
  }
  return !__builtin_add_overflow(*total_bits, bits, total_bits);
}

bool CheckArray(const Shape& shape, std::string* why) {
  // Zero-sized dimensions come last in the product, so that they do not hide an
  // overflow of the others.
  int64_t bits = BitWidth(shape.element_type);
  for (const int64_t size : shape.dimensions) {
    if (size < 0) return Fail(why, absl::StrCat("negative dimension ", size));
    if (size > 0 && __builtin_mul_overflow(bits, size, &bits)) {
      return Fail(why, "size overflows 64 bits");
    }
  }
  if (!shape.dynamic_dimensions.empty() &&
      std::ssize(shape.dynamic_dimensions) != shape.rank()) {
    return Fail(why, "one dynamic mark per dimension expected");
  }
  if (shape.layout.has_value() &&
      !IsPermutation(shape.layout->minor_to_major, shape.rank())) {
    return Fail(why, "layout is not a permutation of the dimensions");
  }
  return true;
}

bool CheckRecursively(const Shape& shape, int64_t* total_bits,
                      std::string* why) {
  if (shape.IsArray()) {
    if (!CheckArray(shape, why)) return false;
    if (!AddBits(shape, total_bits)) {
      return Fail(why, "size overflows 64 bits");
    }
  } else if (!shape.dimensions.empty()) {
    return Fail(
        why, absl::StrCat(Name(shape.element_type), " cannot have dimensions"));
  }
  if (!shape.IsTuple() && !shape.tuple_shapes.empty()) {
    return Fail(why, absl::StrCat(Name(shape.element_type),
                                  " cannot have tuple elements"));
  }
  if (shape.element_type == ElementType::kInvalid) {
    return Fail(why, "no element type");
  }
  for (const Shape& element : shape.tuple_shapes) {
    if (!CheckRecursively(element, total_bits, why)) return false;
  }
  return true;
}

template <typename TypesMatch>
bool CompatibleWith(const Shape& a, const Shape& b, TypesMatch types_match) {
  if (!types_match(a.element_type, b.element_type)) return false;
  if (a.dimensions != b.dimensions) return false;
  if (a.tuple_shapes.size() != b.tuple_shapes.size()) return false;
  for (size_t i = 0; i < a.tuple_shapes.size(); ++i) {
    if (!CompatibleWith(a.tuple_shapes[i], b.tuple_shapes[i], types_match)) {
      return false;
    }
  }
  return true;
}

void AppendLeaves(const Shape& shape, std::vector<const Shape*>* leaves) {
  if (!shape.IsTuple()) return leaves->push_back(&shape);
  for (const Shape& element : shape.tuple_shapes) AppendLeaves(element, leaves);
}

}  // namespace

Shape Shape::Array(ElementType type, std::vector<int64_t> dimensions) {
  MW_CHECK(IsArrayType(type));
  Shape shape;
  shape.element_type = type;
  shape.dimensions = std::move(dimensions);
  return shape;
}

Shape Shape::Tuple(std::vector<Shape> shapes) {
  Shape shape;
  shape.element_type = ElementType::kTuple;
  shape.tuple_shapes = std::move(shapes);
  return shape;
}

Shape Shape::Token() {
  Shape shape;
  shape.element_type = ElementType::kToken;
  return shape;
}

std::string Shape::ToString(bool with_layout) const {
  std::string text;
  AppendShape(*this, with_layout, &text);
  return text;
}

bool Compatible(const Shape& a, const Shape& b) {
  return CompatibleWith(a, b,
                        [](ElementType x, ElementType y) { return x == y; });
}

bool CompatibleIgnoringPrecision(const Shape& a, const Shape& b) {
  return CompatibleWith(a, b, [](ElementType x, ElementType y) {
    return x == y || (IsFloating(x) && IsFloating(y));
  });
}

bool SameDimensions(const Shape& a, const Shape& b) {
  return a.dimensions == b.dimensions;
}

int64_t ElementCount(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t size : shape.dimensions) count *= size;
  return count;
}

int64_t ByteSize(const Shape& shape) {
  if (shape.IsTuple()) {
    int64_t total = 0;
    for (const Shape& element : shape.tuple_shapes) total += ByteSize(element);
    return total;
  }
  return (ElementCount(shape) * BitWidth(shape.element_type) + 7) / 8;
}

bool IsValid(const Shape& shape, std::string* why) {
  int64_t total_bits = 0;
  return CheckRecursively(shape, &total_bits, why);
}

std::vector<const Shape*> Leaves(const Shape& shape) {
  std::vector<const Shape*> leaves;
  AppendLeaves(shape, &leaves);
  return leaves;
}

int32_t LeafCount(const Shape& shape) {
  if (!shape.IsTuple()) return 1;
  int32_t count = 0;
  for (const Shape& element : shape.tuple_shapes) count += LeafCount(element);
  return count;
}

int32_t LeavesBefore(const Shape& tuple, int64_t element) {
  int32_t count = 0;
  for (int64_t i = 0; i < element && i < std::ssize(tuple.tuple_shapes); ++i) {
    count += LeafCount(tuple.tuple_shapes[i]);
  }
  return count;
}

}  // namespace meshwright
