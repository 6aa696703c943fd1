// scan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "tests/rules/lowered.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

constexpr char kReverse[] = "\xF0\x05\x01";  // Field 94, is_reverse.

// (x, carry) -> (opcode(x, carry), the same), on slices.
Callee Step(Opcode opcode, const std::string& slice) {
  return [=](Module& module) {
    Computation* step = module.AddComputation("step");
    const Shape shape = ParseShape(slice);
    Instruction* x = step->AddParameter(shape, "step_x");
    Instruction* carry = step->AddParameter(shape, "step_carry");
    Instruction* next = step->Add(opcode, shape, {x, carry}, "step_next");
    step->set_root(step->Add(Opcode::kTuple, Shape::Tuple({shape, shape}),
                             {next, next}, "step_both"));
    return step;
  };
}

OneOp Scan(Opcode opcode, const std::string& whole, const std::string& slice,
           int64_t dimension) {
  return {.opcode = Opcode::kScan,
          .operands = {whole, slice},
          .set = [=](Attributes& a) { a.dimensions = {dimension}; },
          .called = {Step(opcode, slice)},
          .result = "(" + whole + ", " + slice + ")"};
}

TEST(ScanRule, OtherDimensionsAreKept) {
  const OneOp op = Scan(Opcode::kAdd, "s32[4,6,5]", "s32[4,5]", 1);
  const Rule rule = RuleFor(*Build(op).instruction);
  EXPECT_EQ(KindOf(rule, 0, 0), FactorKind::kKept);
  EXPECT_EQ(KindOf(rule, 0, 1), FactorKind::kWhole);
  EXPECT_EQ(KindOf(rule, 0, 2), FactorKind::kKept);
}

TEST(ScanRule, EqualsOneDevice) {
  for (const OneOp& op : {Scan(Opcode::kAdd, "s32[4,6,5]", "s32[4,5]", 1),
                          Scan(Opcode::kMaximum, "f32[7,4]", "f32[4]", 0),
                          Scan(Opcode::kMultiply, "f32[4,3]", "f32[4]", 1)}) {
    EXPECT_EQ(CheckRule(op), absl::OkStatus());
    OneOp reverse = op;
    reverse.unknown_fields = kReverse;
    EXPECT_EQ(CheckRule(reverse), absl::OkStatus());
  }
}

// A running sum of x and a start value.
TEST(ScanRule, StartsFromItsCarry) {
  const OneOp op = Scan(Opcode::kAdd, "s32[2,3]", "s32[2]", 1);
  Values inputs;
  const auto literal = [](const std::string& shape,
                          const std::vector<int32_t>& values) {
    return Literal{
        .shape = ParseShape(shape),
        .data = std::string(reinterpret_cast<const char*>(values.data()),
                            4 * values.size())};
  };
  inputs.push_back(literal("s32[2,3]", {1, 2, 3, 4, 5, 6}));
  inputs.push_back(literal("s32[2]", {10, 20}));
  const BuiltOp built = Build(op);
  const absl::StatusOr<Values> forward = RunWhole(built, inputs);
  ASSERT_TRUE(forward.ok()) << forward.status();
  EXPECT_EQ((*forward)[0].data,
            literal("s32[2,3]", {11, 13, 16, 24, 29, 35}).data);
  EXPECT_EQ((*forward)[1].data, literal("s32[2]", {16, 35}).data);
  OneOp reverse = op;
  reverse.unknown_fields = kReverse;
  const absl::StatusOr<Values> backward = RunWhole(Build(reverse), inputs);
  ASSERT_TRUE(backward.ok()) << backward.status();
  EXPECT_EQ((*backward)[0].data,
            literal("s32[2,3]", {16, 15, 13, 35, 31, 26}).data);
  EXPECT_EQ((*backward)[1].data, literal("s32[2]", {16, 35}).data);
}

// What mixes elements of a slice cannot be split.
TEST(ScanRule, MixedSlicesAreWhole) {
  OneOp op = Scan(Opcode::kAdd, "s32[4,4]", "s32[4]", 1);
  op.called = {[](Module& module) {
    Computation* step = module.AddComputation("step");
    const Shape shape = ParseShape("s32[4]");
    Instruction* x = step->AddParameter(shape, "step_x");
    Instruction* carry = step->AddParameter(shape, "step_carry");
    Instruction* turned =
        step->Add(Opcode::kReverse, shape, {carry}, "step_turned");
    turned->attributes.mutate().dimensions = {0};
    Instruction* next =
        step->Add(Opcode::kAdd, shape, {x, turned}, "step_next");
    step->set_root(step->Add(Opcode::kTuple, Shape::Tuple({shape, shape}),
                             {next, next}, "step_both"));
    return step;
  }};
  EXPECT_TRUE(RuleFor(*Build(op).instruction).is_fallback);
}

}  // namespace
}  // namespace meshwright
