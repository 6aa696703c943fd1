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

bool Compare(absl::string_view direction, int64_t a, int64_t b) {
  if (direction == "EQ") return a == b;
  if (direction == "NE") return a != b;
  if (direction == "GE") return a >= b;
  if (direction == "GT") return a > b;
  if (direction == "LE") return a <= b;
  return a < b;
}

std::optional<int64_t> Apply(const Instruction& op, int64_t a, int64_t b) {
  switch (op.opcode) {
    case Opcode::kAdd:
      return a + b;
    case Opcode::kSubtract:
      return a - b;
    case Opcode::kMultiply:
      return a * b;
    case Opcode::kMaximum:
      return std::max(a, b);
    case Opcode::kMinimum:
      return std::min(a, b);
    case Opcode::kAnd:
      return a & b;
    case Opcode::kOr:
      return a | b;
    case Opcode::kDivide:
      return b == 0 ? std::nullopt : std::optional(a / b);
    case Opcode::kRemainder:
      return b == 0 ? std::nullopt : std::optional(a % b);
    case Opcode::kCompare:
      return Compare(op.attributes->comparison_direction, a, b);
    default:
      return std::nullopt;
  }
}

std::optional<int64_t> Apply(const Instruction& op, int64_t a) {
  switch (op.opcode) {
    case Opcode::kNegate:
      return -a;
    case Opcode::kAbs:
      return a < 0 ? -a : a;
    case Opcode::kSign:
      return (a > 0) - (a < 0);
    case Opcode::kNot:
      if (op.shape.element_type != ElementType::kPred) return ~a;
      return a == 0;
    default:
      return std::nullopt;
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

  Values Of(const Instruction& value) {
    const auto known = values_.find(&value);
    if (known != values_.end()) return known->second;
    values_[&value] = std::nullopt;
    Values found = Find(value);
    if (found.has_value() && !Fit(*found, value.shape.element_type)) {
      found = std::nullopt;
    }
    return values_[&value] = std::move(found);
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
        Values found = Of(operand);
        if (!found.has_value() || found->size() == 1) return found;
        const bool in_order = ElementCount(value.shape) == count_;
        return in_order ? found : std::nullopt;
      }
      case Opcode::kSelect:
        return Select(value);
      case Opcode::kClamp:
        return Clamp(value);
      default:
        return Arithmetic(value);
    }
  }

  // The elements of all operands, equally many, if these are known.
  std::optional<std::vector<std::vector<int64_t>>> Operands(
      const Instruction& value) {
    std::vector<std::vector<int64_t>> all;
    size_t size = 1;
    for (const Instruction* operand : value.operands) {
      Values found = Of(*operand);
      if (!found.has_value()) return std::nullopt;
      size = std::max(size, found->size());
      all.push_back(*std::move(found));
    }
    if (size > 1 && ElementCount(value.shape) != count_) return std::nullopt;
    for (std::vector<int64_t>& one : all) {
      if (one.size() == 1) one.resize(size, one[0]);
    }
    return all;
  }

  Values Select(const Instruction& value) {
    const auto all = Operands(value);
    if (!all.has_value()) return std::nullopt;
    std::vector<int64_t> chosen;
    for (size_t i = 0; i < (*all)[0].size(); ++i) {
      chosen.push_back((*all)[0][i] != 0 ? (*all)[1][i] : (*all)[2][i]);
    }
    return chosen;
  }

  Values Clamp(const Instruction& value) {
    const auto all = Operands(value);
    if (!all.has_value()) return std::nullopt;
    std::vector<int64_t> clamped;
    for (size_t i = 0; i < (*all)[0].size(); ++i) {
      clamped.push_back(
          std::min(std::max((*all)[1][i], (*all)[0][i]), (*all)[2][i]));
    }
    return clamped;
  }

  Values Arithmetic(const Instruction& value) {
    if (value.operands.empty() || value.operands.size() > 2) {
      return std::nullopt;
    }
    const auto all = Operands(value);
    if (!all.has_value()) return std::nullopt;
    std::vector<int64_t> results;
    for (size_t i = 0; i < (*all)[0].size(); ++i) {
      const std::optional<int64_t> result =
          all->size() == 2 ? Apply(value, (*all)[0][i], (*all)[1][i])
                           : Apply(value, (*all)[0][i]);
      if (!result.has_value()) return std::nullopt;
      results.push_back(*result);
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
