// sort and topk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/rules/lowered.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Compares the first operand's elements; the second is carried along.
Computation* LessOfPairs(Module& module) {
  Computation* less = module.AddComputation("less");
  const Shape key = Shape::Scalar(ElementType::kF32);
  const Shape value = Shape::Scalar(ElementType::kS32);
  Instruction* a = less->AddParameter(key, "less_a");
  Instruction* b = less->AddParameter(key, "less_b");
  less->AddParameter(value, "less_c");
  less->AddParameter(value, "less_d");
  Instruction* root =
      less->Add(Opcode::kCompare, Shape::Scalar(ElementType::kPred), {a, b},
                "less_compare");
  root->attributes.mutate().comparison_direction = "LT";
  less->set_root(root);
  return less;
}

TEST(SortRule, OtherDimensionsAreKept) {
  for (int64_t sorted = 0; sorted < 3; ++sorted) {
    const OneOp op{.opcode = Opcode::kSort,
                   .operands = {"f32[4,5,6]", "s32[4,5,6]"},
                   .set =
                       [&](Attributes& attributes) {
                         attributes.dimensions = {sorted};
                         attributes.is_stable = true;
                       },
                   .called = {LessOfPairs}};
    const Rule rule = RuleFor(*Build(op).instruction);
    for (int64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(KindOf(rule, 0, i),
                i == sorted ? FactorKind::kWhole : FactorKind::kKept);
    }
    EXPECT_EQ(CheckRule(op, {.count = 6}), absl::OkStatus());
  }
}

OneOp TopK(const std::string& operand, int64_t k, bool largest = true) {
  return {.opcode = Opcode::kTopk, .operands = {operand}, .set = [=](auto& a) {
            a.k = k;
            a.largest = largest;
          }};
}

TEST(TopKRule, GathersCandidates) {
  EXPECT_THAT(CollectivesOf(TopK("f32[2,64]", 4), 0, 1, 8),
              ElementsAre("all-gather f32[2,32]", "all-gather s32[2,32]"));
  EXPECT_THAT(CollectivesOf(TopK("f32[8,64]", 4), 0, 0, 8), IsEmpty());
}

TEST(TopKRule, ShardsSmallerThanK) {
  EXPECT_THAT(CollectivesOf(TopK("f32[16]", 5), 0, 0, 8),
              ElementsAre("all-gather f32[16]", "all-gather s32[16]"));
  EXPECT_EQ(CheckRule(TopK("f32[16]", 5), kFew), absl::OkStatus());
  EXPECT_EQ(CheckRule(TopK("f32[3,8]", 8), kFew), absl::OkStatus());
}

TEST(TopKRule, TiesKeepTheLowestIndex) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    OneOp op = TopK("f32[3,24]", 7);
    op.draws[0] = Integers(0, 2);
    EXPECT_EQ(CheckRule(op, {.seed = seed, .count = 6}), absl::OkStatus());
  }
}

TEST(TopKRule, NansInfinitiesAndZerosOfBothSigns) {
  OneOp op = TopK("f32[2,24]", 9);
  op.draws[0] = [](Random& random) {
    const double values[] = {0.0, -0.0, INFINITY, -INFINITY, 1.0, NAN};
    return values[random() % 6];
  };
  EXPECT_EQ(CheckRule(op), absl::OkStatus());
}

TEST(TopKRule, OfOtherTypesAndRanks) {
  EXPECT_EQ(CheckRule(TopK("s32[2,3,12]", 3), kFew), absl::OkStatus());
  EXPECT_EQ(CheckRule(TopK("bf16[4,12]", 2), kFew), absl::OkStatus());
  EXPECT_EQ(CheckRule(TopK("f32[2,12]", 3, /*largest=*/false), kFew),
            absl::OkStatus());
}

}  // namespace
}  // namespace meshwright
