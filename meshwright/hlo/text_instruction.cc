#include "meshwright/hlo/text_instruction.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "meshwright/hlo/shape_checks.h"
#include "meshwright/hlo/text_literal.h"
#include "meshwright/hlo/text_shape.h"

namespace meshwright::internal {

InstructionReader::Operation InstructionReader::ReadOperation() {
  const size_t start = lexer_.position();
  const absl::string_view name = lexer_.Word("an opcode");
  if (const Opcode opcode = ParseOpcode(name); opcode != Opcode::kUnknown) {
    return {.opcode = opcode};
  }
  const struct {
    absl::string_view ending;
    Opcode opcode;
  } kAsyncEndings[] = {{"-start", Opcode::kAsyncStart},
                       {"-update", Opcode::kAsyncUpdate},
                       {"-done", Opcode::kAsyncDone}};
  for (const auto& [ending, opcode] : kAsyncEndings) {
    absl::string_view wrapped = name;
    if (!absl::ConsumeSuffix(&wrapped, ending)) continue;
    const Opcode inner = ParseOpcode(wrapped);
    if (inner != Opcode::kUnknown) return {.opcode = opcode, .wrapped = inner};
  }
  lexer_.FailAt(start, absl::StrCat("'", name, "' is no opcode"));
  return {};
}

Instruction* InstructionReader::Find(absl::string_view name, size_t position) {
  const auto found = instructions_.find(name);
  if (found != instructions_.end()) return found->second;
  lexer_.FailAt(position, absl::StrCat("there is no instruction '", name,
                                       "' above in this computation"));
  return nullptr;
}

Instruction* InstructionReader::ReadOperand() {
  const size_t start = lexer_.position();
  const bool has_shape = NextIsShape(lexer_);
  const Shape shape = has_shape ? ReadShapeText(lexer_) : Shape();
  const size_t name_start = lexer_.position();
  Instruction* operand = Find(lexer_.Name("an operand"), name_start);
  if (operand != nullptr && has_shape && !Compatible(shape, operand->shape)) {
    lexer_.FailAt(start, absl::StrCat("operand '", operand->name, "' is ",
                                      Describe(operand->shape), ", not ",
                                      Describe(shape)));
  }
  return operand;
}

std::vector<Instruction*> InstructionReader::ReadOperands() {
  std::vector<Instruction*> operands;
  lexer_.List("(", ")", [&] { operands.push_back(ReadOperand()); });
  return operands;
}

Instruction* InstructionReader::ReadInstruction(std::string name, Shape shape,
                                                Opcode opcode) {
  if (opcode != Opcode::kParameter && opcode != Opcode::kConstant) {
    std::vector<Instruction*> operands = ReadOperands();
    if (!lexer_.ok()) operands.clear();
    return computation_.Add(opcode, std::move(shape), std::move(operands),
                            std::move(name));
  }
  Instruction* instruction =
      computation_.Add(opcode, std::move(shape), {}, std::move(name));
  Attributes& attributes = instruction->attributes.mutate();
  lexer_.Expect("(");
  if (opcode == Opcode::kParameter) {
    attributes.parameter_number = lexer_.Integer();
  } else {
    attributes.literal = std::make_shared<const Literal>(
        ReadLiteralText(lexer_, instruction->shape));
  }
  lexer_.Expect(")");
  return instruction;
}

Instruction* InstructionReader::Wrap(Opcode opcode, Instruction& start,
                                     size_t position) {
  const std::vector<Shape>& parts = start.shape.tuple_shapes;
  if (parts.size() < 2 || !parts[0].IsTuple()) {
    lexer_.FailAt(position, "expected a shape ((OPERANDS), RESULT, ...)");
    return nullptr;
  }
  Computation* wrapper =
      module_.AddComputation(absl::StrCat("async_computation.", start.name));
  std::vector<Instruction*> parameters;
  for (const Shape& shape : parts[0].tuple_shapes) {
    parameters.push_back(wrapper->AddParameter(
        shape, absl::StrCat("param_", parameters.size(), ".", start.name)));
  }
  start.called = {wrapper};
  return wrapper->Add(opcode, parts[1], std::move(parameters),
                      absl::StrCat(start.name, ".wrapped"));
}

void InstructionReader::Read() {
  const size_t start = lexer_.position();
  const bool is_root = lexer_.TakeWord("ROOT");
  const size_t name_start = lexer_.position();
  const absl::string_view name = lexer_.Name("an instruction");
  lexer_.Expect("=");
  const size_t shape_start = lexer_.position();
  if (!NextIsShape(lexer_)) lexer_.FailExpected("a shape");
  Shape shape = ReadShapeText(lexer_);
  const Operation operation = ReadOperation();
  Instruction* instruction =
      ReadInstruction(std::string(name), std::move(shape), operation.opcode);
  if (!lexer_.ok()) return;
  AttributeText text{.lexer = lexer_,
                     .computations = computations_,
                     .instruction = *instruction};
  if (operation.wrapped != Opcode::kUnknown &&
      operation.opcode == Opcode::kAsyncStart) {
    text.wrapped = Wrap(operation.wrapped, *instruction, shape_start);
    if (!lexer_.ok()) return;
  }
  ReadAttributesText(text);
  if (!text.control_predecessors.empty()) {
    control_predecessors_.emplace_back(instruction,
                                       std::move(text.control_predecessors));
  }
  if (!instructions_.emplace(name, instruction).second) {
    lexer_.FailAt(name_start, absl::StrCat("the name '", name,
                                           "' is taken in this computation"));
  }
  if (!is_root) return;
  if (root_ != nullptr) lexer_.FailAt(start, "there is a ROOT already");
  root_ = instruction;
}

void InstructionReader::Finish() {
  if (root_ != nullptr) computation_.set_root(root_);
  for (const auto& [instruction, predecessors] : control_predecessors_) {
    for (const auto& [name, position] : predecessors) {
      instruction->control_predecessors.push_back(Find(name, position));
    }
  }
}

}  // namespace meshwright::internal
