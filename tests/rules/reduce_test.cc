// reduce with several inputs, against running it whole.
#include <gtest/gtest.h>

#include <limits>

#include "absl/status/status.h"
#include "tests/rules/lowered.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

// (a, b, x, y) -> (first(a, x), second(b, y))
Callee Pairwise(Opcode first, Opcode second) {
  return [=](Module& module) {
    Computation* body = module.AddComputation("pairwise");
    const Shape scalar = Shape::Scalar(ElementType::kF32);
    std::vector<Instruction*> p;
    for (const char* name : {"a", "b", "x", "y"}) {
      p.push_back(body->AddParameter(scalar, name));
    }
    Instruction* one = body->Add(first, scalar, {p[0], p[2]}, "one");
    Instruction* two = body->Add(second, scalar, {p[1], p[3]}, "two");
    body->Add(Opcode::kTuple, Shape::Tuple({scalar, scalar}), {one, two},
              "both");
    return body;
  };
}

Instruction* Compared(Computation* body, const char* direction, Instruction* a,
                      Instruction* b, const char* name) {
  Instruction* result = body->Add(
      Opcode::kCompare, Shape::Scalar(ElementType::kPred), {a, b}, name);
  result->attributes.mutate().comparison_direction = direction;
  return result;
}

// The larger value with its index; of equal ones the lower index; NaN first.
Callee ArgMax() {
  return [](Module& module) {
    Computation* body = module.AddComputation("argmax");
    const Shape value = Shape::Scalar(ElementType::kF32);
    const Shape index = Shape::Scalar(ElementType::kS32);
    const Shape pred = Shape::Scalar(ElementType::kPred);
    Instruction* av = body->AddParameter(value, "av");
    Instruction* ai = body->AddParameter(index, "ai");
    Instruction* bv = body->AddParameter(value, "bv");
    Instruction* bi = body->AddParameter(index, "bi");
    Instruction* takes_a = body->Add(Opcode::kOr, pred,
                                     {Compared(body, "GT", av, bv, "gt"),
                                      Compared(body, "NE", av, av, "nan")},
                                     "takes_a");
    Instruction* lower = body->Add(Opcode::kAnd, pred,
                                   {Compared(body, "EQ", av, bv, "eq"),
                                    Compared(body, "LT", ai, bi, "lt")},
                                   "lower");
    Instruction* takes_ai =
        body->Add(Opcode::kOr, pred, {takes_a, lower}, "takes_ai");
    Instruction* v = body->Add(Opcode::kSelect, value, {takes_a, av, bv}, "v");
    Instruction* i = body->Add(Opcode::kSelect, index, {takes_ai, ai, bi}, "i");
    body->Add(Opcode::kTuple, Shape::Tuple({value, index}), {v, i}, "vi");
    return body;
  };
}

OneOp Reduce(std::vector<std::string> operands, Callee body,
             std::vector<int64_t> dimensions) {
  return {.opcode = Opcode::kReduce,
          .operands = std::move(operands),
          .set = [dimensions](Attributes& a) { a.dimensions = dimensions; },
          .called = {std::move(body)}};
}

OneOp ArgMaxOf(const std::string& dimensions, std::vector<int64_t> reduced) {
  OneOp op = Reduce({"f32" + dimensions, "s32" + dimensions, "f32[]", "s32[]"},
                    ArgMax(), std::move(reduced));
  op.constants = {{2, -std::numeric_limits<double>::infinity()}, {3, 0}};
  // Many equal values; the indices count up.
  auto next = std::make_shared<int64_t>(0);
  op.draws = {{0, Integers(-1, 1)},
              {1, [next](Random&) { return static_cast<double>((*next)++); }}};
  return op;
}

TEST(ReduceRules, EqualCombinersStayPending) {
  const OneOp op = Reduce({"f32[6,5]", "f32[6,5]", "f32[]", "f32[]"},
                          Pairwise(Opcode::kAdd, Opcode::kAdd), {0});
  EXPECT_EQ(CheckRule(op, kQuick), absl::OkStatus());
  EXPECT_EQ(RuleFor(*Build(op).instruction).factors[0].kind,
            FactorKind::kReduced);
}

TEST(ReduceRules, DifferentCombiners) {
  EXPECT_EQ(CheckRule(Reduce({"f32[6,5]", "f32[6,5]", "f32[]", "f32[]"},
                             Pairwise(Opcode::kAdd, Opcode::kMaximum), {0, 1}),
                      kQuick),
            absl::OkStatus());
}

TEST(ReduceRules, ArgMax) {
  EXPECT_EQ(CheckRule(ArgMaxOf("[4,16]", {1}), kQuick), absl::OkStatus());
  EXPECT_EQ(CheckRule(ArgMaxOf("[7,5,3]", {0, 1}), kQuick), absl::OkStatus());
}

TEST(ReduceRules, WhatIsSent) {
  EXPECT_EQ(
      CollectivesOf(ArgMaxOf("[64,3]", {0}), 0, 0, 8),
      std::vector<std::string>({"all-gather f32[8,3]", "all-gather s32[8,3]"}));
  EXPECT_EQ(
      CollectivesOf(Reduce({"f32[64,3]", "f32[64,3]", "f32[]", "f32[]"},
                           Pairwise(Opcode::kAdd, Opcode::kMaximum), {0}),
                    0, 0, 8),
      std::vector<std::string>({"all-reduce f32[3]", "all-reduce f32[3]"}));
}

}  // namespace
}  // namespace meshwright
