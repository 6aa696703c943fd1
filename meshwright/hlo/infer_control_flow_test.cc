#include <memory>

#include "meshwright/hlo/instruction_case.h"

namespace meshwright {
namespace {

void ScalarLiteral(Attributes& attributes) {
  Literal one = Literal::Scalar(1.0f);
  one.shape.layout.reset();
  attributes.literal = std::make_shared<const Literal>(std::move(one));
}

std::function<void(Attributes&)> Element(int64_t index) {
  return [=](Attributes& a) { a.tuple_index = index; };
}

std::vector<InstructionCase> Tuples() {
  return {
      {.name = "Parameter",
       .opcode = Opcode::kParameter,
       .result = "(f32[4], token[])",
       .own = true},
      {.name = "Constant",
       .opcode = Opcode::kConstant,
       .set = ScalarLiteral,
       .result = "f32[]",
       .own = true},
      {.name = "Tuple",
       .opcode = Opcode::kTuple,
       .operands = {"f32[4]", "(s32[])", "token[]"},
       .result = "(f32[4], (s32[]), token[])"},
      {.name = "EmptyTuple", .opcode = Opcode::kTuple, .result = "()"},
      {.name = "TupleOfWrongElement",
       .opcode = Opcode::kTuple,
       .operands = {"f32[4]"},
       .result = "(f32[5])",
       .error = "wrong shape; expected (f32[4]), got (f32[5])"},
      {.name = "TupleOfWrongSize",
       .opcode = Opcode::kTuple,
       .operands = {"s8[]", "s8[]", "s8[]", "s8[]", "s8[]", "s8[]", "s8[]",
                    "s8[]", "s8[]"},
       .result = "(s8[])",
       .error = "expected a tuple of 9 that starts (s8[], s8[],"},
      {.name = "GetTupleElement",
       .opcode = Opcode::kGetTupleElement,
       .operands = {"(f32[4], s32[])"},
       .set = Element(1),
       .result = "s32[]"},
      {.name = "GetAbsentTupleElement",
       .opcode = Opcode::kGetTupleElement,
       .operands = {"(f32[4], s32[])"},
       .set = Element(2),
       .result = "s32[]",
       .error = "tuple index out of range; expected 0 <= index < 2, got 2"},
      {.name = "GetElementOfArray",
       .opcode = Opcode::kGetTupleElement,
       .operands = {"f32[4]"},
       .result = "f32[4]",
       .error = "operand 0 must be a tuple; got f32[4]"},
  };
}

std::vector<InstructionCase> Tokens() {
  return {
      {.name = "OptBarrier",
       .opcode = Opcode::kOptBarrier,
       .operands = {"(f32[4], s32[])"},
       .result = "(f32[4], s32[])"},
      {.name = "Domain",
       .opcode = Opcode::kDomain,
       .operands = {"f32[4]"},
       .result = "f32[4]"},
      {.name = "AfterAll",
       .opcode = Opcode::kAfterAll,
       .operands = {"token[]", "token[]"},
       .result = "token[]"},
      {.name = "AfterArray",
       .opcode = Opcode::kAfterAll,
       .operands = {"f32[]"},
       .result = "token[]",
       .error = "operand 0 must be a token; got f32[]"},
      {.name = "AddDependency",
       .opcode = Opcode::kAddDependency,
       .operands = {"f32[4]", "token[]"},
       .result = "f32[4]"},
      {.name = "AddDependencyOnArray",
       .opcode = Opcode::kAddDependency,
       .operands = {"f32[4]", "f32[]"},
       .result = "f32[4]",
       .error = "operand 1 must be a token; got f32[]"},
      {.name = "Infeed",
       .opcode = Opcode::kInfeed,
       .operands = {"token[]"},
       .result = "(f32[4], token[])",
       .own = true},
      {.name = "InfeedWithoutToken",
       .opcode = Opcode::kInfeed,
       .operands = {"token[]"},
       .result = "f32[4]",
       .error = "the result must be a tuple of data and a token; got f32[4]"},
      {.name = "Outfeed",
       .opcode = Opcode::kOutfeed,
       .operands = {"f32[4]", "token[]"},
       .result = "token[]"},
  };
}

// Opcodes whose shape is taken as it stands.
std::vector<InstructionCase> Asynchronous() {
  return {
      {.name = "Send",
       .opcode = Opcode::kSend,
       .operands = {"f32[4]", "token[]"},
       .result = "(f32[4], u32[], token[])",
       .own = true},
      {.name = "SendDone",
       .opcode = Opcode::kSendDone,
       .operands = {"(f32[4], u32[], token[])"},
       .result = "token[]",
       .own = true},
      {.name = "Recv",
       .opcode = Opcode::kRecv,
       .operands = {"token[]"},
       .result = "(f32[4], u32[], token[])",
       .own = true},
      {.name = "RecvDone",
       .opcode = Opcode::kRecvDone,
       .operands = {"(f32[4], u32[], token[])"},
       .result = "(f32[4], token[])",
       .own = true},
      {.name = "CopyStart",
       .opcode = Opcode::kCopyStart,
       .operands = {"f32[4]"},
       .result = "(f32[4], f32[4], u32[])",
       .own = true},
      {.name = "CopyDone",
       .opcode = Opcode::kCopyDone,
       .operands = {"(f32[4], f32[4], u32[])"},
       .result = "f32[4]",
       .own = true},
      {.name = "AsyncStart",
       .opcode = Opcode::kAsyncStart,
       .operands = {"f32[4]"},
       .called = {"f32[4] -> f32[8]"},
       .result = "((f32[4]), f32[8], s32[])",
       .own = true},
      {.name = "AsyncUpdate",
       .opcode = Opcode::kAsyncUpdate,
       .operands = {"((f32[4]), f32[8], s32[])"},
       .result = "((f32[4]), f32[8], s32[])",
       .own = true},
      {.name = "AsyncDone",
       .opcode = Opcode::kAsyncDone,
       .operands = {"((f32[4]), f32[8], s32[])"},
       .result = "f32[8]",
       .own = true},
      {.name = "UnknownOpcode",
       .opcode = Opcode::kUnknown,
       .operands = {"f32[4]"},
       .called = {"f32[4] -> f32[8]"},
       .set = [](Attributes& a) { a.opcode_name = "frobnicate"; },
       .result = "f32[8]",
       .own = true},
  };
}

std::vector<InstructionCase> Loops() {
  const std::string body = "(s32[], f32[4]) -> (s32[], f32[4])";
  const std::string condition = "(s32[], f32[4]) -> pred[]";
  InstructionCase loop = {.name = "While",
                          .opcode = Opcode::kWhile,
                          .operands = {"(s32[], f32[4])"},
                          .called = {body, condition},
                          .set = nullptr,
                          .result = "(s32[], f32[4])",
                          .own = false,
                          .error = ""};
  std::vector<InstructionCase> cases = {loop};
  const auto bad = [&](std::string name, std::vector<std::string> called,
                       std::string error) {
    InstructionCase test_case = loop;
    test_case.name = std::move(name);
    test_case.called = std::move(called);
    test_case.error = std::move(error);
    cases.push_back(std::move(test_case));
  };
  bad("WhileWithSwappedCallees", {condition, body},
      "body: the called computation returns the wrong shape");
  bad("WhileWithoutCondition", {body},
      "wrong number of called computations; expected 2, got 1");
  bad("WhileBodyTakesOtherState", {"(s32[]) -> (s32[], f32[4])", condition},
      "body: parameter 0 of the called computation has the wrong shape; "
      "expected (s32[], f32[4]), got (s32[])");
  bad("WhileConditionOfWrongArity", {body, "-> pred[]"},
      "condition: wrong number of parameters");
  bad("WhileConditionReturnsNumber", {body, "(s32[], f32[4]) -> s32[]"},
      "condition: the called computation must return pred[]; got s32[]");
  return cases;
}

std::vector<InstructionCase> Branches() {
  const std::string branch = "f32[4] -> f32[8]";
  return {
      {.name = "If",
       .opcode = Opcode::kConditional,
       .operands = {"pred[]", "f32[4]", "()"},
       .called = {branch, "() -> f32[8]"},
       .result = "f32[8]"},
      {.name = "Switch",
       .opcode = Opcode::kConditional,
       .operands = {"s32[]", "f32[4]", "f32[4]", "f32[4]"},
       .called = {branch, branch, branch},
       .result = "f32[8]"},
      {.name = "SwitchOfOne",
       .opcode = Opcode::kConditional,
       .operands = {"s32[]", "f32[4]"},
       .called = {branch},
       .result = "f32[8]"},
      {.name = "IfWithOneBranch",
       .opcode = Opcode::kConditional,
       .operands = {"pred[]", "f32[4]"},
       .called = {branch},
       .result = "f32[8]",
       .error = "wrong number of branches for a pred; expected 2, got 1"},
      {.name = "SwitchByVector",
       .opcode = Opcode::kConditional,
       .operands = {"s32[1]", "f32[4]"},
       .called = {branch},
       .result = "f32[8]",
       .error = "operand 0 must be a pred or s32 scalar; got s32[1]"},
      {.name = "SwitchOnTooFewOperands",
       .opcode = Opcode::kConditional,
       .operands = {"s32[]", "f32[4]"},
       .called = {branch, branch},
       .result = "f32[8]",
       .error = "wrong number of operands; expected one per branch"},
      {.name = "BranchesReturnDifferentShapes",
       .opcode = Opcode::kConditional,
       .operands = {"pred[]", "f32[4]", "f32[4]"},
       .called = {branch, "f32[4] -> f32[9]"},
       .result = "f32[8]",
       .error = "branch 1: the called computation returns the wrong shape"},
      {.name = "BranchTakesAnotherShape",
       .opcode = Opcode::kConditional,
       .operands = {"pred[]", "f32[4]", "f32[5]"},
       .called = {branch, branch},
       .result = "f32[8]",
       .error = "branch 1: parameter 0 of the called computation has the"},
  };
}

std::vector<InstructionCase> Calls() {
  return {
      {.name = "Call",
       .opcode = Opcode::kCall,
       .operands = {"f32[4]", "(s32[])"},
       .called = {"f32[4], (s32[]) -> f32[8]"},
       .result = "f32[8]"},
      {.name = "CallOfNoParameters",
       .opcode = Opcode::kCall,
       .called = {"-> f32[8]"},
       .result = "f32[8]"},
      {.name = "CallOfWrongArity",
       .opcode = Opcode::kCall,
       .operands = {"f32[4]"},
       .called = {"-> f32[8]"},
       .result = "f32[8]",
       .error = "wrong number of parameters of the called computation"},
      {.name = "CallWithWrongOperand",
       .opcode = Opcode::kCall,
       .operands = {"f32[4]"},
       .called = {"bf16[4] -> f32[8]"},
       .result = "f32[8]",
       .error = "wrong shape; expected f32[4], got bf16[4]"},
      {.name = "CallWithWrongResult",
       .opcode = Opcode::kCall,
       .called = {"-> f32[8]"},
       .result = "f32[9]",
       .error = "wrong shape; expected f32[8], got f32[9]"},
      {.name = "CallOfNothing",
       .opcode = Opcode::kCall,
       .result = "f32[9]",
       .error = "wrong number of called computations; expected 1, got 0"},
      {.name = "Fusion",
       .opcode = Opcode::kFusion,
       .operands = {"f32[4]"},
       .called = {"f32[4] -> (f32[8], s32[])"},
       .result = "(f32[8], s32[])"},
  };
}

std::vector<InstructionCase> CustomCalls() {
  return {
      {.name = "CustomCall",
       .opcode = Opcode::kCustomCall,
       .operands = {"f32[4]", "(s32[])"},
       .result = "(f32[8], f32[4])",
       .own = true},
      {.name = "CustomCallWithoutOperandLayouts",
       .opcode = Opcode::kCustomCall,
       .operands = {"f32[4]"},
       .set = [](Attributes& a) { a.constrain_layout = true; },
       .result = "f32[8]",
       .error = "wrong number of operand layouts; expected 1, got 0"},
      {.name = "CustomCallWithWrongOperandLayout",
       .opcode = Opcode::kCustomCall,
       .operands = {"f32[4]"},
       .set =
           [](Attributes& a) {
             a.constrain_layout = true;
             a.operand_shapes_with_layout = {ParseShape("f32[5]")};
           },
       .result = "f32[8]",
       .error = "layout 0 has the wrong shape; expected f32[4], got f32[5]"},
      {.name = "AliasOfAbsentOperand",
       .opcode = Opcode::kCustomCall,
       .operands = {"f32[4]"},
       .set =
           [](Attributes& a) {
             a.output_operand_aliasing = {{{}, 1, {}, ""}};
           },
       .result = "f32[4]",
       .error = "operand index out of range; expected 0 <= i < 1, got 1"},
      {.name = "AliasOfAnotherShape",
       .opcode = Opcode::kCustomCall,
       .operands = {"f32[4]"},
       .set = [](Attributes& a) { a.output_operand_aliasing.emplace_back(); },
       .result = "s32[4]",
       .error = "output and operand 0 differ in shape; expected s32[4]"},
      {.name = "AliasOfAbsentOutput",
       .opcode = Opcode::kCustomCall,
       .operands = {"f32[4]"},
       .set =
           [](Attributes& a) {
             a.output_operand_aliasing = {{{2}, 0, {}, ""}};
           },
       .result = "(f32[4], f32[4])",
       .error = "the result has no element {2}"},
  };
}

}  // namespace

std::vector<InstructionCase> ControlFlowCases() {
  return Joined(
      {Tuples, Tokens, Asynchronous, Loops, Branches, Calls, CustomCalls});
}

}  // namespace meshwright
