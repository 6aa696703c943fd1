// Tuples, tokens, calls and loops: shapes are passed on as they are.
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/computation.h"
#include "meshwright/hlo/infer_rules.h"
#include "meshwright/hlo/shape_checks.h"

namespace meshwright {
namespace {

bool IsToken(const Shape& shape) {
  return shape.element_type == ElementType::kToken;
}

absl::StatusOr<Inferred> LikeRoot(const Computation* callee) {
  if (callee == nullptr || callee->root() == nullptr) {
    return Bad("the called computation is empty");
  }
  return Inferred::Like(callee->root()->shape);
}

}  // namespace

absl::StatusOr<Inferred> InferFirstOperand(const Instruction& instruction) {
  return Inferred::Like(instruction.operand_shape(0));
}

absl::StatusOr<Inferred> InferOwn(const Instruction&) {
  return Inferred::Own();
}

absl::StatusOr<Inferred> InferTuple(const Instruction& instruction) {
  std::vector<const Shape*> shapes;
  shapes.reserve(instruction.operands.size());
  for (const Instruction* operand : instruction.operands) {
    shapes.push_back(&operand->shape);
  }
  return Inferred::Tuple(std::move(shapes));
}

absl::StatusOr<Inferred> InferGetTupleElement(const Instruction& instruction) {
  const Shape& operand = instruction.operand_shape(0);
  if (!operand.IsTuple()) {
    return Bad("operand 0 must be a tuple; got ", Describe(operand));
  }
  const int64_t index = instruction.attributes->tuple_index;
  if (index < 0 || index >= std::ssize(operand.tuple_shapes)) {
    return Bad("tuple index out of range; expected 0 <= index < ",
               operand.tuple_shapes.size(), ", got ", index);
  }
  return Inferred::Like(operand.tuple_shapes[index]);
}

absl::StatusOr<Inferred> InferCallee(const Instruction& instruction) {
  return LikeRoot(instruction.called[0]);
}

absl::StatusOr<Inferred> InferConditional(const Instruction& instruction) {
  const Shape& selector = instruction.operand_shape(0);
  const bool pred = selector.element_type == ElementType::kPred;
  if (!selector.IsScalar() ||
      (!pred && selector.element_type != ElementType::kS32)) {
    return Bad("operand 0 must be a pred or s32 scalar; got ",
               Describe(selector));
  }
  const size_t branches = instruction.called.size();
  if (pred && branches != 2) {
    return Bad("wrong number of branches for a pred; expected 2, got ",
               branches);
  }
  if (instruction.operands.size() != branches + 1) {
    return Bad("wrong number of operands; expected one per branch and the ",
               "selector, ", branches + 1, ", got ",
               instruction.operands.size());
  }
  return LikeRoot(instruction.called[0]);
}

absl::StatusOr<Inferred> InferAfterAll(const Instruction& instruction) {
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    if (!IsToken(instruction.operand_shape(i))) {
      return Bad("operand ", i, " must be a token; got ",
                 Describe(instruction.operand_shape(i)));
    }
  }
  return Inferred::Exactly(Shape::Token());
}

absl::StatusOr<Inferred> InferAddDependency(const Instruction& instruction) {
  if (!IsToken(instruction.operand_shape(1))) {
    return Bad("operand 1 must be a token; got ",
               Describe(instruction.operand_shape(1)));
  }
  return Inferred::Like(instruction.operand_shape(0));
}

absl::StatusOr<Inferred> InferInfeed(const Instruction& instruction) {
  const Shape& shape = instruction.shape;
  if (!shape.IsTuple() || shape.tuple_shapes.size() != 2 ||
      !IsToken(shape.tuple_shapes[1])) {
    return Bad("the result must be a tuple of data and a token; got ",
               Describe(shape));
  }
  return Inferred::Own();
}

absl::StatusOr<Inferred> InferOutfeed(const Instruction&) {
  return Inferred::Exactly(Shape::Token());
}

}  // namespace meshwright
