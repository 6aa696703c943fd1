// Test support: one instruction on its own, with values to try it on.
//
//   OneOp op{.opcode = Opcode::kDot,
//            .operands = {"f32[6,4]", "f32[4,8]"},
//            .set = [](Attributes& a) { a.dot = {{1}, {0}}; }};
//   EXPECT_EQ(CheckRule(op), absl::OkStatus());   // rule_oracle.h
#ifndef MESHWRIGHT_TESTS_RULES_ONE_OP_H_
#define MESHWRIGHT_TESTS_RULES_ONE_OP_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

using Random = std::mt19937_64;
using Draw = std::function<double(Random&)>;  // One element.

Draw Integers(int64_t low, int64_t high);  // Both included.
Draw Reals(double low, double high);

// Adds a computation that the instruction calls.
using Callee = std::function<Computation*(Module&)>;
// (a, b) -> opcode(a, b) on scalars.
Callee Combiner(Opcode opcode, ElementType type);

struct OneOp {
  Opcode opcode = Opcode::kUnknown;
  std::vector<std::string> operands;  // "f32[2,3]", "(f32[2], s32[])"
  std::function<void(Attributes&)> set;
  std::vector<Callee> called;
  FrontendAttributes frontend_attributes;
  std::string unknown_fields;  // Of the instruction, in bytes.
  std::string result;          // Inferred from the operands if empty.

  // Operands that are scalar constants instead of parameters, by number.
  std::map<int32_t, double> constants;
  // Elements of operand leaves, by number; small integers if not given.
  std::map<int32_t, Draw> draws;
  // Floats are compared bit by bit unless partial values were summed up.
  bool exact = true;
  // Also then: what is summed up are small integers.
  bool exact_sums = false;
  // Result leaves whose values mean nothing.
  std::set<int32_t> workspaces;
};

// "f32[2,3]", "(f32[2], s32[])", "token[]".
Shape ParseShape(absl::string_view text);
std::string ShapeText(ElementType type, const std::vector<int64_t>& dimensions);

// The instruction in a module of its own: its operand leaves are parameters
// (or constants), its result leaves the elements of the entry's root.
struct BuiltOp {
  OneOp spec;
  std::unique_ptr<Module> module;
  const Instruction* instruction = nullptr;
  std::vector<Shape> operand_leaves;
  std::vector<Shape> result_leaves;

  // Whether operand leaf `leaf` is a constant.
  bool IsConstant(int32_t leaf) const;
};
BuiltOp Build(OneOp spec);

// Row-major values of the operand leaves.
using Values = std::vector<Literal>;
Values DrawInputs(const BuiltOp& op, Random& random);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_RULES_ONE_OP_H_
