// Constants have a complete value in the right layout.
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/shape_checks.h"
#include "meshwright/hlo/verify_rules.h"

namespace meshwright {
namespace {

// XLA requires a constant to have the layout of its literal, or neither to have
// one.
absl::Status CheckLayout(const Literal& literal, const Shape& shape) {
  const bool expected = shape.layout.has_value();
  const bool got = literal.shape.layout.has_value();
  if (expected != got) {
    return Bad("literal and constant must both have a layout or neither; only ",
               got ? "the literal" : "the constant", " has one");
  }
  if (!expected ||
      literal.shape.layout->minor_to_major == shape.layout->minor_to_major) {
    return absl::OkStatus();
  }
  return Bad("the literal has another layout; expected ",
             shape.ToString(/*with_layout=*/true), ", got ",
             literal.shape.ToString(/*with_layout=*/true));
}

// Requires: `shape` is valid.
absl::Status CheckLiteral(const Literal& literal, const Shape& shape) {
  if (!Compatible(literal.shape, shape)) {
    return Bad("the literal has the wrong shape; expected ", Describe(shape),
               ", got ", Describe(literal.shape));
  }
  if (shape.IsTuple()) {
    if (literal.tuple.size() != shape.tuple_shapes.size()) {
      return Bad("the literal has the wrong number of elements; expected ",
                 shape.tuple_shapes.size(), ", got ", literal.tuple.size());
    }
    for (size_t i = 0; i < literal.tuple.size(); ++i) {
      MW_RETURN_IF_ERROR(CheckLiteral(literal.tuple[i], shape.tuple_shapes[i]));
    }
    return absl::OkStatus();
  }
  if (!shape.IsArray()) return absl::OkStatus();
  MW_RETURN_IF_ERROR(CheckLayout(literal, shape));
  std::optional<int64_t> bytes = CheckedProduct(shape.dimensions);
  if (bytes.has_value()) {
    bytes = CheckedProduct({*bytes, HostBytes(shape.element_type)});
  }
  if (bytes != std::ssize(literal.data)) {
    return Bad("the literal has the wrong size for ", Describe(shape),
               "; expected ", bytes.value_or(-1), " bytes, got ",
               literal.data.size());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckConstant(const Instruction& instruction) {
  const Literal* literal = instruction.attributes->literal.get();
  if (literal == nullptr) return Bad("the constant has no literal");
  return CheckLiteral(*literal, instruction.shape);
}

}  // namespace meshwright
