#include "meshwright/analysis/sign.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "meshwright/analysis/demand.h"
#include "meshwright/hlo/opcode_traits.h"

namespace meshwright {
namespace {

constexpr int64_t kNonNegative = 0;

std::optional<double> RealConstant(const Instruction& value) {
  const Instruction& source = Source(value);
  if (source.opcode != Opcode::kConstant) return std::nullopt;
  const Literal* literal = source.attributes->literal.get();
  if (literal == nullptr || literal->data.empty()) return std::nullopt;
  if (ElementCount(source.shape) != 1) return std::nullopt;
  return literal->ElementAsDouble(0);
}

// Bias corrections are this deep: subtract, power, convert, select, add.
constexpr int kMostDeep = 8;

// Whether the value follows from constants and integers, as a bias correction
// does from the number of steps; of several members trained at once (vmap),
// from one of each.
bool IsOfCounts(const Instruction& value, int depth = 0) {
  const Instruction& source = Source(value);
  if (source.opcode == Opcode::kConstant) return depth > 0;
  if (!source.shape.IsArray() || depth == kMostDeep) return false;
  if (!IsFloating(source.shape.element_type)) return true;
  return IsElementwise(source.opcode) && !source.operands.empty() &&
         std::ranges::all_of(source.operands, [&](const Instruction* operand) {
           return IsOfCounts(*operand, depth + 1);
         });
}

// Whether the value is one non-negative number for the whole tensor, such as a
// decay rate or a bias correction, or for each part of it.
bool IsPositiveFactor(const Instruction& value) {
  if (const std::optional<double> constant = RealConstant(value)) {
    return *constant >= 0;
  }
  const Instruction& source = Source(value);
  return (source.shape.IsArray() && ElementCount(source.shape) == 1) ||
         IsOfCounts(source);
}

bool IsWhole(const Instruction& exponent) {
  const std::optional<double> value = RealConstant(exponent);
  return value && std::nearbyint(*value) == *value;
}

class SignRule : public DemandRule {
 public:
  void Apply(const Instruction& instruction, int64_t demand,
             Ask ask) const override {
    switch (instruction.opcode) {
      case Opcode::kSqrt:
      case Opcode::kRsqrt:
      case Opcode::kLog:
        return ask(*instruction.operands[0], kNonNegative);
      case Opcode::kPower:
        if (IsWhole(*instruction.operands[1])) return;
        return ask(*instruction.operands[0], kNonNegative);
      default:
        if (demand == kNonNegative) PassOn(instruction, ask);
    }
  }

 private:
  static void PassOn(const Instruction& instruction, Ask ask) {
    switch (instruction.opcode) {
      case Opcode::kAdd:
      case Opcode::kMinimum:
        ask(*instruction.operands[0], kNonNegative);
        ask(*instruction.operands[1], kNonNegative);
        return;
      case Opcode::kSubtract:
        return ask(*instruction.operands[0], kNonNegative);
      case Opcode::kMultiply:
        for (int side : {0, 1}) {
          if (IsPositiveFactor(*instruction.operands[1 - side])) {
            ask(*instruction.operands[side], kNonNegative);
          }
        }
        return;
      case Opcode::kDivide:
        if (IsPositiveFactor(*instruction.operands[1])) {
          ask(*instruction.operands[0], kNonNegative);
        }
        return;
      default:
        AskOfMoved(instruction, kNonNegative, ask);
    }
  }
};

}  // namespace

std::set<int64_t> NonNegativeParameters(const Module& module) {
  const std::vector<int64_t> demands = ParameterDemands(module, SignRule());
  const std::vector<Instruction*> parameters = module.entry()->Parameters();
  std::set<int64_t> result;
  for (size_t i = 0; i < demands.size(); ++i) {
    if (demands[i] != kNonNegative) continue;
    if (!IsFloating(parameters[i]->shape.element_type)) continue;
    result.insert(static_cast<int64_t>(i));
  }
  return result;
}

}  // namespace meshwright
