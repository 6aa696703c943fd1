#include "meshwright/hlo/inferred.h"

#include <limits>

#include "meshwright/hlo/shape_checks.h"

namespace meshwright {
namespace {

constexpr size_t kShownElements = 8;

Shape MakeArray(ElementType type, const std::vector<int64_t>& dimensions) {
  Shape shape;
  shape.element_type = type;
  shape.dimensions = dimensions;
  return shape;
}

bool IsArrayOf(const Shape& shape, ElementType type,
               const std::vector<int64_t>& dimensions) {
  return shape.element_type == type && shape.dimensions == dimensions;
}

}  // namespace

Inferred Inferred::Like(const Shape& shape) {
  Inferred result(Kind::kLike);
  result.like_ = &shape;
  return result;
}

Inferred Inferred::Retyped(const Shape& shape, ElementType type) {
  Inferred result(Kind::kArrays);
  result.like_ = &shape;
  result.types_ = {type};
  return result;
}

Inferred Inferred::Array(ElementType type, std::vector<int64_t> dimensions) {
  return Arrays({type}, std::move(dimensions));
}

Inferred Inferred::Arrays(Types types, std::vector<int64_t> dimensions) {
  Inferred result(Kind::kArrays);
  result.types_ = std::move(types);
  result.dimensions_ = std::move(dimensions);
  return result;
}

Inferred Inferred::Tuple(std::vector<const Shape*> elements) {
  Inferred result(Kind::kTuple);
  result.elements_ = std::move(elements);
  return result;
}

Inferred Inferred::Exactly(Shape shape) {
  Inferred result(Kind::kExactly);
  result.exactly_ = std::move(shape);
  return result;
}

bool Inferred::Matches(const Shape& actual) const {
  if (kind_ == Kind::kOwn) return true;
  if (kind_ == Kind::kLike) return Compatible(*like_, actual);
  if (kind_ == Kind::kExactly) return Compatible(*exactly_, actual);
  if (kind_ == Kind::kArrays && types_.size() == 1) {
    return IsArrayOf(actual, types_[0], dimensions());
  }
  const size_t count = kind_ == Kind::kTuple ? elements_.size() : types_.size();
  if (!actual.IsTuple() || actual.tuple_shapes.size() != count) return false;
  for (size_t i = 0; i < count; ++i) {
    const Shape& element = actual.tuple_shapes[i];
    if (kind_ == Kind::kTuple ? !Compatible(*elements_[i], element)
                              : !IsArrayOf(element, types_[i], dimensions())) {
      return false;
    }
  }
  return true;
}

Shape Inferred::Build(size_t limit) const {
  if (kind_ == Kind::kLike) return *like_;
  if (kind_ == Kind::kExactly) return *exactly_;
  if (kind_ == Kind::kArrays && types_.size() == 1) {
    return MakeArray(types_[0], dimensions());
  }
  std::vector<Shape> shapes;
  for (const Shape* element : elements_) {
    if (shapes.size() < limit) shapes.push_back(*element);
  }
  for (const ElementType type : types_) {
    if (shapes.size() < limit) shapes.push_back(MakeArray(type, dimensions()));
  }
  return Shape::Tuple(std::move(shapes));
}

std::optional<Shape> Inferred::ToShape() const {
  if (kind_ == Kind::kOwn) return std::nullopt;
  return Build(std::numeric_limits<size_t>::max());
}

std::string Inferred::ToString() const {
  if (kind_ == Kind::kOwn) return "any shape";
  const size_t count = kind_ == Kind::kTuple ? elements_.size() : types_.size();
  const std::string text = Describe(Build(kShownElements));
  if (count <= kShownElements) return text;
  return absl::StrCat("a tuple of ", count, " that starts ", text);
}

}  // namespace meshwright
