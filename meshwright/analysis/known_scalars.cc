#include "meshwright/analysis/known_scalars.h"

#include <algorithm>

#include "meshwright/hlo/opcode_traits.h"

namespace meshwright {
namespace {

bool IsKnowable(const Shape& shape) {
  return shape.IsScalar() && (IsInteger(shape.element_type) ||
                              shape.element_type == ElementType::kPred);
}

// `value` if the element type can represent it; otherwise it would wrap.
std::optional<int64_t> Fitting(ElementType type, __int128 value) {
  const int64_t bits = type == ElementType::kPred ? 1 : BitWidth(type);
  const bool is_signed = IsSignedInteger(type);
  const __int128 limit = __int128{1} << (is_signed ? bits - 1 : bits);
  if (value >= limit || value < (is_signed ? -limit : __int128{0}) ||
      value > INT64_MAX) {
    return std::nullopt;
  }
  return static_cast<int64_t>(value);
}

bool Compare(const std::string& direction, int64_t a, int64_t b) {
  if (direction == "EQ") return a == b;
  if (direction == "NE") return a != b;
  if (direction == "LT") return a < b;
  if (direction == "LE") return a <= b;
  if (direction == "GT") return a > b;
  return a >= b;
}

// Before it is represented; nullopt as for IntegerResult().
std::optional<__int128> Exact(const Instruction& op,
                              absl::Span<const int64_t> operands) {
  const __int128 a = operands[0];
  switch (op.opcode) {
    case Opcode::kAdd:
      return a + operands[1];
    case Opcode::kSubtract:
      return a - operands[1];
    case Opcode::kMultiply:
      return a * operands[1];
    case Opcode::kDivide:
      if (operands[1] == 0) return std::nullopt;
      return a / operands[1];
    case Opcode::kRemainder:
      if (operands[1] == 0) return std::nullopt;
      return a % operands[1];
    case Opcode::kAnd:
      return operands[0] & operands[1];
    case Opcode::kOr:
      return operands[0] | operands[1];
    case Opcode::kNot:
      if (op.shape.element_type == ElementType::kPred) return a == 0 ? 1 : 0;
      return ~a;
    case Opcode::kNegate:
      return -a;
    case Opcode::kAbs:
      return a < 0 ? -a : a;
    case Opcode::kSign:
      return (a > 0) - (a < 0);
    case Opcode::kMaximum:
      return std::max(operands[0], operands[1]);
    case Opcode::kMinimum:
      return std::min(operands[0], operands[1]);
    case Opcode::kClamp:
      return std::min(std::max(operands[0], operands[1]), operands[2]);
    case Opcode::kCompare:
      return Compare(op.attributes->comparison_direction, operands[0],
                     operands[1])
                 ? 1
                 : 0;
    case Opcode::kSelect:
      return operands[0] != 0 ? operands[1] : operands[2];
    case Opcode::kConvert:
      return a;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<int64_t> ScalarConstant(const Instruction& instruction) {
  if (instruction.opcode != Opcode::kConstant ||
      !IsKnowable(instruction.shape)) {
    return std::nullopt;
  }
  const Literal* literal = instruction.attributes->literal.get();
  if (literal == nullptr || literal->data.empty()) return std::nullopt;
  return literal->ElementAsInteger(0);
}

std::optional<int64_t> IntegerResult(const Instruction& op,
                                     absl::Span<const int64_t> operands) {
  const std::optional<__int128> exact = Exact(op, operands);
  if (!exact.has_value()) return std::nullopt;
  return Fitting(op.shape.element_type, *exact);
}

std::optional<int64_t> KnownScalars::Of(const Instruction& instruction) {
  const auto found = memo_.find(instruction.id);
  if (found != memo_.end()) return found->second;
  std::optional<int64_t> value;
  if (IsKnowable(instruction.shape)) value = Work(instruction);
  return memo_[instruction.id] = value;
}

std::optional<int64_t> KnownScalars::Work(const Instruction& instruction) {
  if (instruction.opcode == Opcode::kConstant) {
    return ScalarConstant(instruction);
  }
  if (instruction.opcode == Opcode::kGetTupleElement) {
    if (instruction.operands[0] != &parameter_) return std::nullopt;
    return carried_[instruction.attributes->tuple_index];
  }
  if (instruction.operands.empty()) return std::nullopt;
  std::vector<int64_t> operands;
  for (const Instruction* operand : instruction.operands) {
    if (!IsKnowable(operand->shape)) return std::nullopt;
    const std::optional<int64_t> value = Of(*operand);
    if (!value.has_value()) return std::nullopt;
    operands.push_back(*value);
  }
  if (KeepsElements(instruction.opcode) ||
      instruction.opcode == Opcode::kBroadcast) {
    return Fitting(instruction.shape.element_type, operands[0]);
  }
  return IntegerResult(instruction, operands);
}

}  // namespace meshwright
