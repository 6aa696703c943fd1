// The result of an inference rule.
//
//   Inferred::Array(ElementType::kF32, {8, 16}).Matches(instruction.shape);
//
// Distinct from Shape so that checking a valid module builds no shapes: parts
// that equal an operand's are borrowed and must outlive the result.
#ifndef MESHWRIGHT_HLO_INFERRED_H_
#define MESHWRIGHT_HLO_INFERRED_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/hlo/shape.h"

namespace meshwright {

class Inferred {
 public:
  using Types = std::vector<ElementType>;

  // The instruction's own shape: the rule has checked it, or implies none.
  static Inferred Own() { return Inferred(Kind::kOwn); }
  // Equal to `shape`, which is borrowed.
  static Inferred Like(const Shape& shape);
  // An array with the (borrowed) dimensions of `shape` and another type.
  static Inferred Retyped(const Shape& shape, ElementType type);
  static Inferred Array(ElementType type, std::vector<int64_t> dimensions);
  // One array per type, all with the same dimensions: a plain array for one
  // type, otherwise a tuple.
  static Inferred Arrays(Types types, std::vector<int64_t> dimensions);
  // A tuple of borrowed elements.
  static Inferred Tuple(std::vector<const Shape*> elements);
  static Inferred Exactly(Shape shape);

  // Ignores layouts and dynamic dimensions. Time is bounded by the size of
  // `actual`.
  bool Matches(const Shape& actual) const;
  // nullopt for Own().
  std::optional<Shape> ToShape() const;
  // For messages: long tuples are abbreviated.
  std::string ToString() const;

 private:
  enum class Kind { kOwn, kLike, kArrays, kTuple, kExactly };

  explicit Inferred(Kind kind) : kind_(kind) {}

  // The result as a shape, tuples truncated to `limit` elements.
  Shape Build(size_t limit) const;
  const std::vector<int64_t>& dimensions() const {
    return like_ != nullptr ? like_->dimensions : dimensions_;
  }

  Kind kind_;
  const Shape* like_ = nullptr;
  Types types_;
  std::vector<int64_t> dimensions_;
  std::vector<const Shape*> elements_;
  std::optional<Shape> exactly_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_INFERRED_H_
