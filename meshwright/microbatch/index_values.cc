#include "meshwright/microbatch/index_values.h"

#include <algorithm>
#include <map>
#include <utility>

#include "meshwright/analysis/known_scalars.h"
#include "meshwright/hlo/literal.h"

namespace meshwright {
namespace {

using Values = std::optional<std::vector<int64_t>>;

bool IsIntegral(const Shape& shape) {
  return shape.IsArray() && (IsInteger(shape.element_type) ||
                             shape.element_type == ElementType::kPred);
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

  Values Arithmetic(const Instruction& value) {
    const std::optional<Operands> of = OperandsOf(value);
    if (!of.has_value() || of->all.empty()) return std::nullopt;
    std::vector<int64_t> results(of->size);
    std::vector<int64_t> operands(of->all.size());
    for (size_t i = 0; i < of->size; ++i) {
      for (size_t j = 0; j < operands.size(); ++j) operands[j] = of->all[j][i];
      const std::optional<int64_t> result = IntegerResult(value, operands);
      if (!result.has_value()) return std::nullopt;
      results[i] = *result;
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
