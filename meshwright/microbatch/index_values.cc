#include "meshwright/microbatch/index_values.h"

#include <algorithm>
#include <map>
#include <utility>

#include "meshwright/hlo/literal.h"

namespace meshwright {
namespace {

using Values = std::optional<std::vector<int64_t>>;

bool IsIntegral(const Shape& shape) {
  return shape.IsArray() && (IsInteger(shape.element_type) ||
                             shape.element_type == ElementType::kPred);
}

using Unary = int64_t (*)(int64_t);
using Binary = int64_t (*)(int64_t, int64_t);

Binary ComparisonOf(absl::string_view direction) {
  using Comparison = std::pair<absl::string_view, Binary>;
  static constexpr Comparison kAll[] = {
      {"EQ", [](int64_t a, int64_t b) -> int64_t { return a == b; }},
      {"NE", [](int64_t a, int64_t b) -> int64_t { return a != b; }},
      {"GE", [](int64_t a, int64_t b) -> int64_t { return a >= b; }},
      {"GT", [](int64_t a, int64_t b) -> int64_t { return a > b; }},
      {"LE", [](int64_t a, int64_t b) -> int64_t { return a <= b; }},
      {"LT", [](int64_t a, int64_t b) -> int64_t { return a < b; }}};
  for (const auto& [name, compare] : kAll) {
    if (name == direction) return compare;
  }
  return nullptr;
}

// Null for other operations. A divisor must not be 0.
Binary BinaryOf(const Instruction& op) {
  switch (op.opcode) {
    case Opcode::kAdd:
      return [](int64_t a, int64_t b) { return a + b; };
    case Opcode::kSubtract:
      return [](int64_t a, int64_t b) { return a - b; };
    case Opcode::kMultiply:
      return [](int64_t a, int64_t b) { return a * b; };
    case Opcode::kMaximum:
      return [](int64_t a, int64_t b) { return std::max(a, b); };
    case Opcode::kMinimum:
      return [](int64_t a, int64_t b) { return std::min(a, b); };
    case Opcode::kAnd:
      return [](int64_t a, int64_t b) { return a & b; };
    case Opcode::kOr:
      return [](int64_t a, int64_t b) { return a | b; };
    case Opcode::kDivide:
      return [](int64_t a, int64_t b) { return a / b; };
    case Opcode::kRemainder:
      return [](int64_t a, int64_t b) { return a % b; };
    case Opcode::kCompare:
      return ComparisonOf(op.attributes->comparison_direction);
    default:
      return nullptr;
  }
}

Unary UnaryOf(const Instruction& op) {
  const bool is_pred = op.shape.element_type == ElementType::kPred;
  switch (op.opcode) {
    case Opcode::kNegate:
      return [](int64_t a) { return -a; };
    case Opcode::kAbs:
      return [](int64_t a) { return a < 0 ? -a : a; };
    case Opcode::kSign:
      return [](int64_t a) -> int64_t { return (a > 0) - (a < 0); };
    case Opcode::kNot:
      if (is_pred) return [](int64_t a) -> int64_t { return a == 0; };
      return [](int64_t a) { return ~a; };
    default:
      return nullptr;
  }
}

// Whether all types of that width can have the values, and unsigned ones if
// they are not negative; far from where sums overflow.
bool Fit(const std::vector<int64_t>& values, ElementType type) {
  const int64_t bits = std::min<int64_t>(8 * HostBytes(type), 32);
  const int64_t limit = int64_t{1} << (bits - 2);
  const bool is_unsigned = Name(type)[0] == 'u';
  return std::ranges::all_of(values, [&](int64_t value) {
    return value <= limit && value >= (is_unsigned ? 0 : -limit);
  });
}

class Evaluator {
 public:
  Evaluator(const Instruction& input, const std::vector<int64_t>& elements)
      : input_(input), count_(ElementCount(input.shape)), elements_(elements) {}

  const Values& Of(const Instruction& value) {
    const auto [known, is_new] = values_.try_emplace(&value);
    if (!is_new) return known->second;
    Values found = Find(value);
    if (found.has_value() && Fit(*found, value.shape.element_type)) {
      known->second = std::move(found);
    }
    return known->second;
  }

 private:
  Values Find(const Instruction& value) {
    if (IsSameValue(value, input_)) return elements_;
    if (!IsIntegral(value.shape)) return std::nullopt;
    switch (value.opcode) {
      case Opcode::kConstant:
        if (ElementCount(value.shape) != 1 ||
            value.attributes->literal == nullptr ||
            !IsInteger(value.shape.element_type)) {
          return std::nullopt;
        }
        return {{value.attributes->literal->ElementAsInteger(0)}};
      case Opcode::kBroadcast:
      case Opcode::kReshape:
      case Opcode::kConvert:
      case Opcode::kCopy:
      case Opcode::kOptBarrier: {
        const Instruction& operand = *value.operands[0];
        if (!IsIntegral(operand.shape)) return std::nullopt;
        const Values& found = Of(operand);
        if (!found.has_value() || found->size() == 1) return found;
        const bool in_order = ElementCount(value.shape) == count_;
        if (!in_order) return std::nullopt;
        return found;
      }
      case Opcode::kSelect:
        return Select(value);
      case Opcode::kClamp:
        return Clamp(value);
      default:
        return Arithmetic(value);
    }
  }

  // The elements of an operand; one that stands for all is repeated.
  class Elements {
   public:
    explicit Elements(const std::vector<int64_t>& values)
        : values_(values), step_(values.size() == 1 ? 0 : 1) {}
    int64_t operator[](size_t i) const { return values_[i * step_]; }

   private:
    const std::vector<int64_t>& values_;
    const size_t step_;
  };
  struct Operands {
    std::vector<Elements> all;
    size_t size = 1;
  };

  // Of all operands, if these are known.
  std::optional<Operands> OperandsOf(const Instruction& value) {
    Operands operands;
    for (const Instruction* operand : value.operands) {
      const Values& found = Of(*operand);
      if (!found.has_value() || found->empty()) return std::nullopt;
      operands.size = std::max(operands.size, found->size());
      operands.all.emplace_back(*found);
    }
    if (operands.size > 1 && ElementCount(value.shape) != count_) {
      return std::nullopt;
    }
    return operands;
  }

  Values Select(const Instruction& value) {
    const std::optional<Operands> of = OperandsOf(value);
    if (!of.has_value()) return std::nullopt;
    std::vector<int64_t> chosen(of->size);
    for (size_t i = 0; i < of->size; ++i) {
      chosen[i] = of->all[0][i] != 0 ? of->all[1][i] : of->all[2][i];
    }
    return chosen;
  }

  Values Clamp(const Instruction& value) {
    const std::optional<Operands> of = OperandsOf(value);
    if (!of.has_value()) return std::nullopt;
    std::vector<int64_t> clamped(of->size);
    for (size_t i = 0; i < of->size; ++i) {
      clamped[i] =
          std::min(std::max(of->all[1][i], of->all[0][i]), of->all[2][i]);
    }
    return clamped;
  }

  Values Arithmetic(const Instruction& value) {
    const size_t count = value.operands.size();
    const Unary unary = count == 1 ? UnaryOf(value) : nullptr;
    const Binary binary = count == 2 ? BinaryOf(value) : nullptr;
    if (unary == nullptr && binary == nullptr) return std::nullopt;
    const std::optional<Operands> of = OperandsOf(value);
    if (!of.has_value()) return std::nullopt;
    const bool divides =
        value.opcode == Opcode::kDivide || value.opcode == Opcode::kRemainder;
    std::vector<int64_t> results(of->size);
    for (size_t i = 0; i < of->size; ++i) {
      if (divides && of->all[1][i] == 0) return std::nullopt;
      results[i] = unary != nullptr ? unary(of->all[0][i])
                                    : binary(of->all[0][i], of->all[1][i]);
    }
    return results;
  }

  const Instruction& input_;
  const int64_t count_;
  const std::vector<int64_t>& elements_;
  std::map<const Instruction*, Values> values_;
};

}  // namespace

bool IsSameValue(const Instruction& a, const Instruction& b) {
  if (&a == &b) return true;
  return a.opcode == Opcode::kGetTupleElement && b.opcode == a.opcode &&
         a.operands[0] == b.operands[0] &&
         a.attributes->tuple_index == b.attributes->tuple_index;
}

std::optional<std::vector<int64_t>> ValuesOf(
    const Instruction& value, const Instruction& input,
    const std::vector<int64_t>& elements) {
  return Evaluator(input, elements).Of(value);
}

}  // namespace meshwright
