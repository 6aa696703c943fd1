// Callers and callees: parameters, results and scalar combiners.
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/shape_checks.h"
#include "meshwright/hlo/verify_rules.h"

namespace meshwright {
namespace {

absl::Status CheckParameterCount(const Signature& callee, size_t count) {
  if (callee.parameters.size() == count) return absl::OkStatus();
  return Bad("wrong number of parameters of the called computation; expected ",
             count, ", got ", callee.parameters.size());
}

absl::Status CheckParameter(const Signature& callee, size_t number,
                            const Shape& argument, ShapeClasses& classes) {
  const Shape& parameter = callee.parameters[number]->shape;
  if (classes.Same(parameter, argument)) return absl::OkStatus();
  return Bad("parameter ", number, " of the called computation has the wrong ",
             "shape; expected ", Describe(argument), ", got ",
             Describe(parameter));
}

absl::Status CheckResult(const Signature& callee, const Shape& expected,
                         ShapeClasses& classes) {
  if (classes.Same(callee.root->shape, expected)) return absl::OkStatus();
  return Bad("the called computation returns the wrong shape; expected ",
             Describe(expected), ", got ", Describe(callee.root->shape));
}

bool IsScalarOf(const Shape& shape, ElementType type) {
  return shape.IsScalar() &&
         SameTypeIgnoringPrecision(shape.element_type, type);
}

// Parameter `number` is a scalar of `type`, up to floating precision unless
// `exact` is set.
absl::Status CheckScalarParameter(const Signature& callee, size_t number,
                                  ElementType type, bool exact = false) {
  const Shape& parameter = callee.parameters[number]->shape;
  if (IsScalarOf(parameter, type) &&
      (!exact || parameter.element_type == type)) {
    return absl::OkStatus();
  }
  return Bad("parameter ", number, " of the called computation must be a ",
             "scalar; expected ", Name(type), "[], got ", Describe(parameter));
}

absl::Status CheckReturnsPredicate(const Signature& callee) {
  const Shape& result = callee.root->shape;
  if (IsScalarOf(result, ElementType::kPred)) return absl::OkStatus();
  return Bad("the called computation must return pred[]; got ",
             Describe(result));
}

// The operand that gives the type of accumulator `i` (first half of the
// parameters) or of input `i` (second half).
const Shape& Accumulator(const Instruction& instruction, size_t i) {
  const bool scatter = instruction.opcode == Opcode::kScatter;
  return instruction.operand_shape(
      scatter ? i : instruction.operands.size() / 2 + i);
}

const Shape& Input(const Instruction& instruction, size_t i) {
  const bool scatter = instruction.opcode == Opcode::kScatter;
  return instruction.operand_shape(
      scatter ? instruction.operands.size() / 2 + 1 + i : i);
}

// reduce, reduce-window, scatter: (accumulators..., inputs...) to accumulators.
absl::Status CheckCombiner(const Instruction& instruction,
                           const Signature& callee) {
  const size_t count = instruction.operands.size() / 2;
  const bool exact = instruction.opcode != Opcode::kScatter;
  MW_RETURN_IF_ERROR(CheckParameterCount(callee, 2 * count));
  const Shape& result = callee.root->shape;
  const bool tuple = result.IsTuple();
  if (tuple ? result.tuple_shapes.size() != count : count != 1) {
    return Bad("the called computation returns the wrong number of values; ",
               "expected ", count, ", got ", Describe(result));
  }
  for (size_t i = 0; i < count; ++i) {
    const ElementType type = Accumulator(instruction, i).element_type;
    MW_RETURN_IF_ERROR(CheckScalarParameter(callee, i, type, exact));
    MW_RETURN_IF_ERROR(CheckScalarParameter(
        callee, count + i, Input(instruction, i).element_type, exact));
    const Shape& returned = tuple ? result.tuple_shapes[i] : result;
    const Shape& accumulator = callee.parameters[i]->shape;
    if (!Compatible(returned, accumulator)) {
      return Bad("the called computation returns the wrong shape; expected ",
                 Describe(accumulator), ", got ", Describe(returned));
    }
  }
  return absl::OkStatus();
}

// all-reduce, reduce-scatter: one scalar combiner for all operands. As in XLA,
// only its kind (add, maximum) counts, so its type need not be the operands'.
absl::Status CheckCollectiveCombiner(const Signature& callee) {
  MW_RETURN_IF_ERROR(CheckParameterCount(callee, 2));
  const ElementType type = callee.parameters[0]->shape.element_type;
  MW_RETURN_IF_ERROR(CheckScalarParameter(callee, 0, type));
  MW_RETURN_IF_ERROR(CheckScalarParameter(callee, 1, type));
  if (IsScalarOf(callee.root->shape, type)) return absl::OkStatus();
  return Bad("the called computation returns the wrong shape; expected ",
             Name(type), "[], got ", Describe(callee.root->shape));
}

absl::Status CheckComparator(const Instruction& instruction,
                             const Signature& callee) {
  const size_t count = instruction.operands.size();
  MW_RETURN_IF_ERROR(CheckParameterCount(callee, 2 * count));
  for (size_t i = 0; i < 2 * count; ++i) {
    MW_RETURN_IF_ERROR(CheckScalarParameter(
        callee, i, instruction.operand_shape(i / 2).element_type));
  }
  return CheckReturnsPredicate(callee);
}

absl::Status CheckMapped(const Instruction& instruction,
                         const Signature& callee) {
  const size_t count = instruction.operands.size();
  MW_RETURN_IF_ERROR(CheckParameterCount(callee, count));
  for (size_t i = 0; i < count; ++i) {
    MW_RETURN_IF_ERROR(CheckScalarParameter(
        callee, i, instruction.operand_shape(i).element_type));
  }
  if (callee.root->shape.IsScalar()) return absl::OkStatus();
  return Bad("the called computation must return a scalar; got ",
             Describe(callee.root->shape));
}

absl::Status CheckSelectAndScatter(const Instruction& instruction,
                                   const Signature& select,
                                   const Signature& scatter) {
  const ElementType operand = instruction.operand_shape(0).element_type;
  const ElementType source = instruction.operand_shape(1).element_type;
  MW_RETURN_IF_ERROR(CheckParameterCount(select, 2));
  MW_RETURN_IF_ERROR(CheckScalarParameter(select, 0, operand));
  MW_RETURN_IF_ERROR(CheckScalarParameter(select, 1, operand));
  MW_RETURN_IF_ERROR(CheckReturnsPredicate(select));
  MW_RETURN_IF_ERROR(CheckParameterCount(scatter, 2));
  MW_RETURN_IF_ERROR(CheckScalarParameter(scatter, 0, source));
  MW_RETURN_IF_ERROR(CheckScalarParameter(scatter, 1, source));
  if (IsScalarOf(scatter.root->shape, source)) return absl::OkStatus();
  return Bad("the scatter computation returns the wrong shape; expected ",
             Name(source), "[], got ", Describe(scatter.root->shape));
}

absl::Status CheckWhile(const Instruction& instruction, const Signature& body,
                        const Signature& condition, ShapeClasses& classes) {
  const Shape& state = instruction.operand_shape(0);
  for (const Signature* callee : {&body, &condition}) {
    const absl::string_view role = callee == &body ? "body" : "condition";
    absl::Status status = CheckParameterCount(*callee, 1);
    if (status.ok()) status = CheckParameter(*callee, 0, state, classes);
    MW_RETURN_IF_ERROR(Annotate(status, role));
  }
  MW_RETURN_IF_ERROR(Annotate(CheckResult(body, state, classes), "body"));
  return Annotate(CheckReturnsPredicate(condition), "condition");
}

absl::Status CheckConditional(const Instruction& instruction,
                              const std::vector<const Signature*>& branches,
                              ShapeClasses& classes) {
  for (size_t i = 0; i < branches.size(); ++i) {
    absl::Status status = CheckParameterCount(*branches[i], 1);
    if (status.ok()) {
      status = CheckParameter(*branches[i], 0, instruction.operand_shape(i + 1),
                              classes);
    }
    if (status.ok()) {
      status = CheckResult(*branches[i], instruction.shape, classes);
    }
    if (!status.ok()) return Annotate(status, absl::StrCat("branch ", i));
  }
  return absl::OkStatus();
}

absl::Status CheckCall(const Instruction& instruction, const Signature& callee,
                       ShapeClasses& classes) {
  MW_RETURN_IF_ERROR(CheckParameterCount(callee, instruction.operands.size()));
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    MW_RETURN_IF_ERROR(
        CheckParameter(callee, i, instruction.operand_shape(i), classes));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Signature> SignatureOf(const Computation& computation) {
  Signature signature = {.parameters = {}, .root = computation.root()};
  if (signature.root == nullptr) return Bad("the computation has no root");
  size_t count = 0;
  for (const auto& instruction : computation.instructions()) {
    if (instruction->opcode == Opcode::kParameter) ++count;
  }
  signature.parameters.resize(count);
  for (const auto& instruction : computation.instructions()) {
    if (instruction->opcode != Opcode::kParameter) continue;
    const int64_t number = instruction->attributes->parameter_number;
    if (number < 0 || number >= static_cast<int64_t>(count)) {
      return Bad("parameter numbers must be 0..n-1; got ", number, " among ",
                 count, " parameters");
    }
    if (signature.parameters[number] != nullptr) {
      return Bad("parameter numbers must be 0..n-1; got ", number, " twice");
    }
    signature.parameters[number] = instruction.get();
  }
  return signature;
}

const Shape* ShapeClasses::Find(const Shape* shape) {
  const Shape** link = &parent_.try_emplace(shape, shape).first->second;
  while (*link != shape) {
    // Path halving, for the next search.
    const Shape** next = &parent_.find(*link)->second;
    *link = *next;
    shape = *link;
    link = &parent_.find(shape)->second;
  }
  return shape;
}

bool ShapeClasses::Same(const Shape& a, const Shape& b) {
  if (!a.IsTuple() || !b.IsTuple()) return Compatible(a, b);
  const Shape* root_a = Find(&a);
  const Shape* root_b = Find(&b);
  if (root_a == root_b) return true;
  if (!Compatible(a, b)) return false;
  parent_[root_a] = root_b;
  return true;
}

absl::Status CheckCalls(const Instruction& instruction,
                        const std::vector<const Signature*>& callees,
                        ShapeClasses& classes) {
  switch (instruction.opcode) {
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kScatter:
      return CheckCombiner(instruction, *callees[0]);
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kReduceScatter:
      return CheckCollectiveCombiner(*callees[0]);
    case Opcode::kSort:
      return CheckComparator(instruction, *callees[0]);
    case Opcode::kMap:
      return CheckMapped(instruction, *callees[0]);
    case Opcode::kSelectAndScatter:
      return CheckSelectAndScatter(instruction, *callees[0], *callees[1]);
    case Opcode::kWhile:
      return CheckWhile(instruction, *callees[0], *callees[1], classes);
    case Opcode::kConditional:
      return CheckConditional(instruction, callees, classes);
    case Opcode::kCall:
    case Opcode::kFusion:
      return CheckCall(instruction, *callees[0], classes);
    default:
      return absl::OkStatus();
  }
}

}  // namespace meshwright
