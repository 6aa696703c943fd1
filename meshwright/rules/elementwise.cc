// Opcodes that compute each element from the same element of the operands.
#include "meshwright/rules/families.h"

namespace meshwright {
namespace {

bool IsWidening(const Instruction& convert) {
  const ElementType from = convert.operand_shape(0).element_type;
  const ElementType to = convert.shape.element_type;
  return IsFloating(from) && IsFloating(to) &&
         (from == to || BitWidth(to) > BitWidth(from));
}

// Collectives know "and" and "or" of truth values only.
std::vector<Linear> LogicLinear(const Instruction& instruction,
                                Reduction reduction) {
  if (instruction.shape.element_type != ElementType::kPred) return {};
  return {{reduction, {0, 1}}};
}

// Which operands may be partial values together.
std::vector<Linear> LinearOf(const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kAdd:
      return {{Reduction::kSum, {0, 1}}};
    case Opcode::kSubtract:
      return {{Reduction::kSum, {0, 1}}};
    case Opcode::kMultiply:
      return {{Reduction::kSum, {0}}, {Reduction::kSum, {1}}};
    case Opcode::kDivide:
      if (IsInteger(instruction.shape.element_type)) return {};
      return {{Reduction::kSum, {0}}};
    case Opcode::kNegate:
      return {{Reduction::kSum, {0}}};
    case Opcode::kReal:
    case Opcode::kImag:
      return {{Reduction::kSum, {0}}};
    case Opcode::kComplex:
      return {{Reduction::kSum, {0, 1}}};
    case Opcode::kCopy:
      return {{std::nullopt, {0}}};
    case Opcode::kSelect:
      return {{std::nullopt, {1, 2}}};
    case Opcode::kConvert:
      if (!IsWidening(instruction)) return {};
      return {{Reduction::kSum, {0}},
              {Reduction::kMax, {0}},
              {Reduction::kMin, {0}}};
    case Opcode::kMaximum:
      return {{Reduction::kMax, {0, 1}}};
    case Opcode::kMinimum:
      return {{Reduction::kMin, {0, 1}}};
    case Opcode::kAnd:
      return LogicLinear(instruction, Reduction::kAnd);
    case Opcode::kOr:
      return LogicLinear(instruction, Reduction::kOr);
    default:
      return {};
  }
}

}  // namespace

std::optional<Rule> ElementwiseFactors(const Instruction& instruction) {
  const std::vector<int64_t>& dimensions = instruction.shape.dimensions;
  if (!instruction.shape.IsArray()) return std::nullopt;
  Rule rule = PointwiseRule(dimensions,
                            static_cast<int32_t>(instruction.operands.size()));
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    const Shape& shape = instruction.operand_shape(i);
    if (!shape.IsArray()) return std::nullopt;
    if (shape.IsScalar()) {
      rule.operands[i].clear();
    } else if (shape.dimensions != dimensions) {
      return std::nullopt;
    }
  }
  rule.linear = LinearOf(instruction);
  return rule;
}

std::optional<Rule> IdentityFactors(const Instruction& instruction) {
  Rule rule;
  const std::vector<const Shape*> results = Leaves(instruction.shape);
  std::vector<const Shape*> operands;
  for (const Instruction* operand : instruction.operands) {
    for (const Shape* leaf : Leaves(operand->shape)) operands.push_back(leaf);
  }
  // Operands beyond the results (tokens of add-dependency) have no factors.
  if (operands.size() < results.size()) return std::nullopt;
  for (size_t i = 0; i < operands.size(); ++i) {
    TensorFactors tensor;
    if (i < results.size()) {
      if (!SameDimensions(*operands[i], *results[i])) return std::nullopt;
      for (const int64_t size : operands[i]->dimensions) {
        const int32_t factor = rule.AddFactor(size);
        rule.factors[factor].may_pad = true;
        rule.factors[factor].may_divide = true;
        tensor.push_back({factor});
      }
      rule.results.push_back(tensor);
    } else if (operands[i]->IsArray()) {
      return std::nullopt;
    }
    rule.operands.push_back(std::move(tensor));
  }
  return rule;
}

}  // namespace meshwright
