#include "meshwright/hlo/affine_index.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

#include "meshwright/hlo/literal.h"

namespace meshwright {
namespace {

// Expressions of more values than this are not analysed.
constexpr int kMaxValues = 64;
// Offsets, strides and sizes above it are not handled either: a product of two
// fits into int64.
constexpr int64_t kLimit = int64_t{1} << 31;

using Fixed = std::optional<FixedPosition>;

struct Range {
  int64_t least = 0;
  int64_t most = 0;
};

bool IsUniform(const AffineIndex& index) {
  return std::ranges::all_of(index.strides, [](int64_t s) { return s == 0; });
}

// Whether all values of `range` can be represented in the type.
bool Holds(ElementType type, const Range& range) {
  const int64_t bits = BitWidth(type) - (IsSignedInteger(type) ? 1 : 0);
  if (range.least < 0 && !IsSignedInteger(type)) return false;
  if (bits >= 62) return true;
  const int64_t limit = int64_t{1} << bits;
  return range.most < limit && range.least >= -limit;
}

std::optional<Range> RangeOf(const AffineIndex& index, const Shape& shape) {
  Range range{index.offset, index.offset};
  if (range.least < -kLimit || range.most > kLimit) return std::nullopt;
  for (size_t d = 0; d < index.strides.size(); ++d) {
    const int64_t size = shape.dimensions[d];
    if (size > kLimit || std::abs(index.strides[d]) > kLimit) {
      return std::nullopt;
    }
    const int64_t last = index.strides[d] * (size - 1);
    (last < 0 ? range.least : range.most) += last;
    if (range.least < -kLimit || range.most > kLimit) return std::nullopt;
  }
  return range;
}

// The strides of dimensions that cover the same elements in row-major order.
std::optional<std::vector<int64_t>> ReshapedStrides(
    const std::vector<int64_t>& from, const std::vector<int64_t>& strides,
    const std::vector<int64_t>& to) {
  std::vector<int64_t> result(to.size(), 0);
  // From the last dimension: one dimension of `from` may become several of
  // `to`, and several may become one if their strides continue each other.
  size_t at = from.size();
  int64_t left = 1;  // The part of dimension `at` that is not yet assigned.
  int64_t step = 0;
  const auto next = [&] {
    while (left == 1 && at > 0) {
      --at;
      left = from[at];
      step = strides[at];
    }
  };
  for (size_t i = to.size(); i-- > 0;) {
    if (to[i] == 1) continue;
    next();
    result[i] = step;
    int64_t needed = to[i];
    int64_t reach = step;  // The stride that the next part must have.
    while (needed > 1) {
      next();
      if (step != reach) return std::nullopt;
      const int64_t part = std::min(needed, left);
      if (needed % part != 0 || left % part != 0) return std::nullopt;
      needed /= part;
      left /= part;
      step *= part;
      reach = step;
    }
  }
  return result;
}

// The same position in the operand of a reshape, if the dimension is one there.
std::optional<FixedPosition> BeforeReshape(const Instruction& reshape,
                                           std::optional<FixedPosition> fixed) {
  if (!fixed.has_value()) return std::nullopt;
  const auto inside = [](const Shape& shape, int64_t dimension) {
    int64_t count = 1;
    for (int64_t d = dimension + 1; d < shape.rank(); ++d) {
      count *= shape.dimensions[d];
    }
    return count;
  };
  const Shape& from = reshape.operand_shape(0);
  const int64_t size = reshape.shape.dimensions[fixed->dimension];
  const int64_t within = inside(reshape.shape, fixed->dimension);
  for (int64_t d = 0; size > 1 && d < from.rank(); ++d) {
    if (from.dimensions[d] == size && inside(from, d) == within) {
      return FixedPosition{d, fixed->position};
    }
  }
  return std::nullopt;
}

class AffineReader {
 public:
  explicit AffineReader(const IndexSources& sources) : sources_(sources) {}

  std::optional<AffineIndex> Of(const Instruction& value, Fixed fixed) {
    if (--values_left_ < 0 || !IsInteger(value.shape.element_type) ||
        ElementCount(value.shape) == 0) {
      return std::nullopt;
    }
    if (const auto source = sources_.find(&value); source != sources_.end()) {
      return Of(*source->second, fixed);
    }
    std::optional<AffineIndex> found = Find(value, fixed);
    if (!found.has_value()) return std::nullopt;
    for (size_t d = 0; d < found->strides.size(); ++d) {
      if (value.shape.dimensions[d] == 1) found->strides[d] = 0;
    }
    if (fixed.has_value()) {
      int64_t& stride = found->strides[fixed->dimension];
      found->offset += stride * fixed->position;
      stride = 0;
    }
    const std::optional<Range> range = RangeOf(*found, value.shape);
    if (!range.has_value() || !Holds(value.shape.element_type, *range)) {
      return std::nullopt;
    }
    return found;
  }

 private:
  using Result = std::optional<AffineIndex>;

  Result Find(const Instruction& value, Fixed fixed) {
    switch (value.opcode) {
      case Opcode::kIota: {
        AffineIndex index{0, std::vector<int64_t>(value.shape.rank(), 0)};
        index.strides[value.attributes->dimensions[0]] = 1;
        return index;
      }
      case Opcode::kConstant:
        return OfConstant(value, fixed);
      case Opcode::kConvert:
      case Opcode::kCopy:
        return Of(*value.operands[0], fixed);
      case Opcode::kGetTupleElement: {
        // Left over from inlined calls.
        const Instruction& tuple = *value.operands[0];
        if (tuple.opcode != Opcode::kTuple) return std::nullopt;
        return Of(*tuple.operands[value.attributes->tuple_index], fixed);
      }
      case Opcode::kBroadcast:
      case Opcode::kTranspose:
        return OfPermuted(value, fixed);
      case Opcode::kReshape:
        return OfReshape(value, fixed);
      case Opcode::kSlice:
        return OfSlice(value, fixed);
      case Opcode::kReverse:
        return OfReverse(value);
      case Opcode::kConcatenate:
        return OfConcatenate(value, fixed);
      case Opcode::kSelect: {
        const std::optional<bool> taken =
            Decide(*value.operands[0], InOperand(value, 0, fixed));
        if (!taken.has_value()) return std::nullopt;
        return Of(*value.operands[*taken ? 1 : 2], fixed);
      }
      case Opcode::kClamp: {
        const Result low = Of(*value.operands[0], InOperand(value, 0, fixed));
        const Result high = Of(*value.operands[2], InOperand(value, 2, fixed));
        return Clamped(value, low, Of(*value.operands[1], fixed), high);
      }
      default:
        return OfArithmetic(value, fixed);
    }
  }

  // Bounds and predicates may be scalars, which have no dimension to fix.
  static Fixed InOperand(const Instruction& value, size_t operand,
                         Fixed fixed) {
    return value.operand_shape(operand).IsScalar() ? Fixed() : fixed;
  }

  // The operand of a clamp that changes nothing.
  static Result Clamped(const Instruction& clamp, const Result& low,
                        const Result& value, const Result& high) {
    if (!low.has_value() || !value.has_value() || !high.has_value() ||
        !IsUniform(*low) || !IsUniform(*high)) {
      return std::nullopt;
    }
    const std::optional<Range> range = RangeOf(*value, clamp.shape);
    if (range->least < low->offset || range->most > high->offset) {
      return std::nullopt;
    }
    return value;
  }

  static Result OfConstant(const Instruction& constant, Fixed fixed) {
    const Literal* literal = constant.attributes->literal.get();
    const Shape& shape = constant.shape;
    if (literal == nullptr || literal->data.empty() ||
        !IsRowMajor(literal->shape)) {
      return std::nullopt;
    }
    std::vector<int64_t> steps(shape.rank(), 1);  // Between elements.
    for (int64_t d = shape.rank() - 1; d > 0; --d) {
      steps[d - 1] = steps[d] * shape.dimensions[d];
    }
    const int64_t first = fixed ? fixed->position * steps[fixed->dimension] : 0;
    AffineIndex index{literal->ElementAsInteger(first),
                      std::vector<int64_t>(shape.rank(), 0)};
    if (std::abs(index.offset / 2) > kLimit) return std::nullopt;
    for (int64_t d = 0; d < shape.rank(); ++d) {
      if (shape.dimensions[d] == 1 || (fixed && fixed->dimension == d)) {
        continue;
      }
      const int64_t next = literal->ElementAsInteger(first + steps[d]);
      if (std::abs(next / 2) > kLimit) return std::nullopt;
      index.strides[d] = next - index.offset;
    }
    if (!RangeOf(index, shape).has_value()) return std::nullopt;
    for (int64_t i = 0; i < ElementCount(shape); ++i) {
      int64_t expected = index.offset;
      bool is_meant = true;
      for (int64_t d = 0; d < shape.rank(); ++d) {
        const int64_t position = i / steps[d] % shape.dimensions[d];
        expected += index.strides[d] * position;
        is_meant = is_meant && (!fixed || fixed->dimension != d ||
                                fixed->position == position);
      }
      if (is_meant && literal->ElementAsInteger(i) != expected) {
        return std::nullopt;
      }
    }
    return index;
  }

  static bool IsRowMajor(const Shape& shape) {
    return !shape.layout.has_value() ||
           std::ranges::is_sorted(shape.layout->minor_to_major,
                                  std::ranges::greater());
  }

  Result OfSlice(const Instruction& slice, Fixed fixed) {
    const std::vector<SliceDimension>& taken = slice.attributes->slice;
    if (fixed) {
      const SliceDimension& along = taken[fixed->dimension];
      fixed->position = along.start + fixed->position * along.stride;
    }
    Result index = Of(*slice.operands[0], fixed);
    for (size_t d = 0; index && d < index->strides.size(); ++d) {
      index->offset += index->strides[d] * taken[d].start;
      index->strides[d] *= taken[d].stride;
    }
    return index;
  }

  Result OfReverse(const Instruction& reverse) {
    Result index = Of(*reverse.operands[0], {});
    if (!index.has_value()) return std::nullopt;
    for (const int64_t d : reverse.attributes->dimensions) {
      index->offset += index->strides[d] * (reverse.shape.dimensions[d] - 1);
      index->strides[d] = -index->strides[d];
    }
    return index;
  }

  // Dimension i of the operand is dimensions[i] of a broadcast; dimension i of
  // a transpose is dimensions[i] of the operand.
  Result OfPermuted(const Instruction& value, Fixed fixed) {
    const std::vector<int64_t>& dimensions = value.attributes->dimensions;
    const bool is_transpose = value.opcode == Opcode::kTranspose;
    Fixed inner;
    for (size_t i = 0; fixed && i < dimensions.size(); ++i) {
      const auto [from, to] =
          is_transpose ? std::pair{dimensions[i], static_cast<int64_t>(i)}
                       : std::pair{static_cast<int64_t>(i), dimensions[i]};
      if (to == fixed->dimension) inner = {from, fixed->position};
    }
    const Result of = Of(*value.operands[0], inner);
    if (!of.has_value()) return std::nullopt;
    AffineIndex index{of->offset, std::vector<int64_t>(value.shape.rank(), 0)};
    for (size_t i = 0; i < dimensions.size(); ++i) {
      if (is_transpose) {
        index.strides[i] = of->strides[dimensions[i]];
      } else {
        index.strides[dimensions[i]] = of->strides[i];
      }
    }
    return index;
  }

  Result OfReshape(const Instruction& reshape, Fixed fixed) {
    const Result of = Of(*reshape.operands[0], BeforeReshape(reshape, fixed));
    if (!of.has_value()) return std::nullopt;
    std::optional<std::vector<int64_t>> strides =
        ReshapedStrides(reshape.operand_shape(0).dimensions, of->strides,
                        reshape.shape.dimensions);
    if (!strides.has_value()) return std::nullopt;
    return AffineIndex{of->offset, *std::move(strides)};
  }

  // The index within one piece; all pieces have the same strides elsewhere.
  Result OfConcatenate(const Instruction& value, Fixed fixed) {
    const int64_t along = value.attributes->dimensions[0];
    if (!fixed || fixed->dimension != along) return std::nullopt;
    int64_t position = fixed->position;
    for (const Instruction* piece : value.operands) {
      const int64_t size = piece->shape.dimensions[along];
      if (position < size) return Of(*piece, FixedPosition{along, position});
      position -= size;
    }
    return std::nullopt;
  }

  Result OfArithmetic(const Instruction& value, Fixed fixed) {
    switch (value.opcode) {
      case Opcode::kAdd:
      case Opcode::kSubtract:
      case Opcode::kMultiply:
      case Opcode::kDivide:
      case Opcode::kRemainder:
      case Opcode::kMaximum:
      case Opcode::kMinimum:
        break;
      default:
        return std::nullopt;
    }
    Result a = Of(*value.operands[0], fixed);
    if (!a.has_value()) return std::nullopt;
    Result b = Of(*value.operands[1], fixed);
    if (!b.has_value()) return std::nullopt;
    switch (value.opcode) {
      case Opcode::kAdd:
        return Sum(*a, *b, 1);
      case Opcode::kSubtract:
        return Sum(*a, *b, -1);
      case Opcode::kMultiply:
        if (IsUniform(*a)) std::swap(a, b);
        if (!IsUniform(*b)) return std::nullopt;
        return Sum(AffineIndex{0, std::vector<int64_t>(a->strides.size(), 0)},
                   *a, b->offset);
      case Opcode::kDivide:
      case Opcode::kRemainder:
        return Quotient(value, *a, *b);
      default:
        return Extreme(value, *a, *b);
    }
  }

  static AffineIndex Sum(AffineIndex a, const AffineIndex& b, int64_t factor) {
    a.offset += factor * b.offset;
    for (size_t d = 0; d < a.strides.size(); ++d) {
      a.strides[d] += factor * b.strides[d];
    }
    return a;
  }

  // The quotient or the remainder by a constant: the terms that are multiples
  // of the divisor, divided by it, or the sum of the others, which must stay
  // below it.
  static Result Quotient(const Instruction& value, const AffineIndex& a,
                         const AffineIndex& b) {
    const int64_t divisor = b.offset;
    if (!IsUniform(b) || divisor <= 0) return std::nullopt;
    AffineIndex multiple = a;
    AffineIndex rest = a;
    rest.offset = (a.offset % divisor + divisor) % divisor;
    multiple.offset = (a.offset - rest.offset) / divisor;
    for (size_t d = 0; d < a.strides.size(); ++d) {
      const bool divides = a.strides[d] % divisor == 0;
      multiple.strides[d] = divides ? a.strides[d] / divisor : 0;
      rest.strides[d] = divides ? 0 : a.strides[d];
    }
    const std::optional<Range> all = RangeOf(a, value.shape);
    const std::optional<Range> range = RangeOf(rest, value.shape);
    // Quotients of negative numbers are rounded towards zero.
    if (all->least < 0 || !range.has_value() || range->least < 0 ||
        range->most >= divisor) {
      return std::nullopt;
    }
    return value.opcode == Opcode::kDivide ? multiple : rest;
  }

  static Result Extreme(const Instruction& value, const AffineIndex& a,
                        const AffineIndex& b) {
    const std::optional<Range> more = RangeOf(Sum(a, b, -1), value.shape);
    if (!more.has_value()) return std::nullopt;
    const bool is_maximum = value.opcode == Opcode::kMaximum;
    if (more->least >= 0) return is_maximum ? a : b;
    if (more->most <= 0) return is_maximum ? b : a;
    return std::nullopt;
  }

  // The value of a predicate, if it is the same everywhere.
  std::optional<bool> Decide(const Instruction& predicate, Fixed fixed) {
    if (--values_left_ < 0) return std::nullopt;
    if (predicate.opcode == Opcode::kBroadcast &&
        predicate.operand_shape(0).IsScalar()) {
      return Decide(*predicate.operands[0], {});
    }
    if (predicate.opcode != Opcode::kCompare) return std::nullopt;
    const Result a = Of(*predicate.operands[0], fixed);
    if (!a.has_value()) return std::nullopt;
    const Result b = Of(*predicate.operands[1], fixed);
    if (!b.has_value()) return std::nullopt;
    const std::optional<Range> more = RangeOf(Sum(*a, *b, -1), predicate.shape);
    if (!more.has_value()) return std::nullopt;
    const std::string& direction = predicate.attributes->comparison_direction;
    const auto always = [](bool yes, bool no) -> std::optional<bool> {
      if (yes || no) return yes;
      return std::nullopt;
    };
    if (direction == "LT") return always(more->most < 0, more->least >= 0);
    if (direction == "LE") return always(more->most <= 0, more->least > 0);
    if (direction == "GT") return always(more->least > 0, more->most <= 0);
    if (direction == "GE") return always(more->least >= 0, more->most < 0);
    return std::nullopt;
  }

  const IndexSources& sources_;
  int values_left_ = kMaxValues;
};

}  // namespace

std::optional<AffineIndex> AffineIndexOf(const Instruction& value,
                                         std::optional<FixedPosition> fixed,
                                         const IndexSources& sources) {
  return AffineReader(sources).Of(value, fixed);
}

std::optional<int64_t> IotaDimension(const AffineIndex& index) {
  std::optional<int64_t> found;
  for (size_t d = 0; d < index.strides.size(); ++d) {
    if (index.strides[d] == 0) continue;
    if (found.has_value() || index.strides[d] != 1) return std::nullopt;
    found = static_cast<int64_t>(d);
  }
  return index.offset == 0 ? found : std::nullopt;
}

}  // namespace meshwright
