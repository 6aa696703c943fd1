// Test support: one instruction, given by its operands' shapes, and what
// InferShape and Verify should say of it.
//
//   {.name = "MatrixProduct",
//    .opcode = Opcode::kDot,
//    .operands = {"f32[8,4]", "f32[4,16]"},
//    .set = [](Attributes& a) { ... },
//    .result = "f32[8,16]"}
#ifndef MESHWRIGHT_HLO_INSTRUCTION_CASE_H_
#define MESHWRIGHT_HLO_INSTRUCTION_CASE_H_

#include <functional>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "meshwright/hlo/module.h"

namespace meshwright {

struct InstructionCase {
  std::string name;
  Opcode opcode;
  std::vector<std::string> operands;
  // Called computations by signature: "f32[], f32[] -> f32[]".
  std::vector<std::string> called;
  std::function<void(Attributes&)> set;
  std::string unknown_fields = {};
  std::string result;  // The instruction's own shape.
  // For good cases: InferShape gives `result`, or nothing where own is set.
  bool own = false;
  // For bad cases: part of Verify's message.
  std::string error;
};

// Of computations that combine two numbers.
inline constexpr char kAddSignature[] = "f32[], f32[] -> f32[]";

// For `set`.
inline std::function<void(Attributes&)> WithDimensions(
    std::vector<int64_t> dimensions) {
  return [=](Attributes& a) { a.dimensions = dimensions; };
}

// "f32[2,3]", "(s32[], token[])".
Shape ParseShape(const std::string& text);

// A computation with these parameters and a root of the given shape.
Computation* AddCallee(Module& module, const std::string& signature,
                       const std::string& name);

// A module whose entry applies the case's instruction to parameters.
std::unique_ptr<Module> BuildModule(const InstructionCase& test_case);

inline void PrintTo(const InstructionCase& test_case, std::ostream* out) {
  *out << test_case.name;
}

// The rows of several tables.
using CaseTable = std::vector<InstructionCase> (*)();
std::vector<InstructionCase> Joined(std::initializer_list<CaseTable> tables);

std::vector<InstructionCase> ElementwiseCases();
std::vector<InstructionCase> DataMovementCases();
std::vector<InstructionCase> ContractionCases();
std::vector<InstructionCase> GatherScatterCases();
std::vector<InstructionCase> ReduceCases();
std::vector<InstructionCase> CollectiveCases();
std::vector<InstructionCase> ControlFlowCases();
std::vector<InstructionCase> LinearAlgebraCases();

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_INSTRUCTION_CASE_H_
