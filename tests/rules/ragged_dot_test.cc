// ragged-dot, in its three kinds, under every factor.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/rules/lowered.h"
#include "tests/rules/ragged_op.h"
#include "tests/rules/rule_oracle.h"

namespace meshwright {
namespace {

// Rows of [12,6] have one of four matrices [6,10].
const OneOp kRows = RaggedDot({"f32[12,6]", "f32[4,6,10]", "s32[4]"},
                              {.lhs_contracting = {1},
                               .rhs_contracting = {1},
                               .ragged = {0},
                               .group = {0}},
                              "f32[12,10]");
// The gradient of the matrices.
const OneOp kProducts =
    RaggedDot({"f32[12,6]", "f32[12,10]", "s32[4]"},
              {.lhs_contracting = {0}, .rhs_contracting = {0}, .ragged = {0}},
              "f32[4,6,10]");

TEST(RaggedDotRule, RowsHaveTheirMatrix) {
  const Rule rule = RuleFor(*Build(kRows).instruction);
  EXPECT_EQ(KindOf(rule, 0, 0), FactorKind::kKept);
  EXPECT_EQ(KindOf(rule, 0, 1), FactorKind::kReduced);
  EXPECT_EQ(KindOf(rule, 1, 0), FactorKind::kReduced);
  EXPECT_EQ(KindOf(rule, 1, 2), FactorKind::kKept);
  for (uint64_t seed = 1; seed <= (IsLong() ? 4 : 1); ++seed) {
    EXPECT_EQ(CheckRule(kRows, {.seed = seed}), absl::OkStatus());
  }
}

TEST(RaggedDotRule, AProductForEachGroup) {
  const Rule rule = RuleFor(*Build(kProducts).instruction);
  EXPECT_EQ(KindOf(rule, 0, 0), FactorKind::kReduced);
  EXPECT_EQ(KindOf(rule, 1, 1), FactorKind::kKept);
  EXPECT_EQ(rule.factors[rule.results[0][0][0]].kind, FactorKind::kKept);
  for (uint64_t seed = 1; seed <= (IsLong() ? 4 : 1); ++seed) {
    EXPECT_EQ(CheckRule(kProducts, {.seed = seed}), absl::OkStatus());
  }
}

TEST(RaggedDotRule, OddSizes) {
  EXPECT_EQ(CheckRule(RaggedDot({"f32[13,5]", "f32[3,5,7]", "s32[3]"},
                                {.lhs_contracting = {1},
                                 .rhs_contracting = {1},
                                 .ragged = {0},
                                 .group = {0}},
                                "f32[13,7]", 5)),
            absl::OkStatus());
  EXPECT_EQ(CheckRule(RaggedDot(
                {"f32[13,5]", "f32[13,7]", "s64[3]"},
                {.lhs_contracting = {0}, .rhs_contracting = {0}, .ragged = {0}},
                "f32[3,5,7]", 5)),
            absl::OkStatus());
}

// Sizes of their own for each element of the batch; groups not in front.
TEST(RaggedDotRule, Batches) {
  const RaggedNumbers rows{.lhs_contracting = {2},
                           .rhs_contracting = {0},
                           .lhs_batch = {0},
                           .rhs_batch = {2},
                           .ragged = {1},
                           .group = {1}};
  const std::vector<std::string> batched = {"f32[4,6,8]", "f32[8,3,4,2]",
                                            "s32[4,3]"};
  const OneOp own = RaggedDot(batched, rows, "f32[4,6,2]", 2);
  EXPECT_EQ(KindOf(RuleFor(*Build(own).instruction), 1, 1),
            FactorKind::kReduced);
  EXPECT_EQ(CheckRule(own), absl::OkStatus());
  const OneOp shared = RaggedDot({"f32[4,6,8]", "f32[8,3,4,2]", "s32[3]"}, rows,
                                 "f32[4,6,2]", 2);
  EXPECT_EQ(KindOf(RuleFor(*Build(shared).instruction), 1, 1),
            FactorKind::kReduced);
  EXPECT_EQ(CheckRule(shared, kQuick), absl::OkStatus());
  EXPECT_EQ(CheckRule(RaggedDot({"f32[4,6,8]", "f32[4,6,2]", "s32[4,3]"},
                                {.lhs_contracting = {1},
                                 .rhs_contracting = {1},
                                 .lhs_batch = {0},
                                 .rhs_batch = {0},
                                 .ragged = {1}},
                                "f32[3,4,8,2]", 2),
                      kQuick),
            absl::OkStatus());
}

// Rows that were sorted in blocks: each has its own sizes.
TEST(RaggedDotRule, Blocks) {
  const OneOp rows = RaggedDot({"f32[4,6,8]", "f32[6,8,2]", "s32[4,6]"},
                               {.lhs_contracting = {2},
                                .rhs_contracting = {1},
                                .ragged = {1},
                                .group = {0}},
                               "f32[4,6,2]", 1);
  const OneOp products = RaggedDot(
      {"f32[4,6,8]", "f32[4,6,2]", "s32[4,6]"},
      {.lhs_contracting = {0, 1}, .rhs_contracting = {0, 1}, .ragged = {1}},
      "f32[6,8,2]", 1);
  for (uint64_t seed = 1; seed <= (IsLong() ? 2 : 1); ++seed) {
    EXPECT_EQ(CheckRule(rows, {.seed = seed}), absl::OkStatus());
    EXPECT_EQ(CheckRule(products, {.seed = seed}), absl::OkStatus());
  }
}

TEST(RaggedDotRule, RaggedBatch) {
  EXPECT_EQ(CheckRule(RaggedDot({"f32[4,6,8]", "f32[4,8,2]", "s32[2]"},
                                {.lhs_contracting = {2},
                                 .rhs_contracting = {1},
                                 .lhs_batch = {0},
                                 .rhs_batch = {0},
                                 .ragged = {0}},
                                "f32[4,6,2]", 2)),
            absl::OkStatus());
}

}  // namespace
}  // namespace meshwright
