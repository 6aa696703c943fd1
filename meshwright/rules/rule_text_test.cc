#include "meshwright/rules/rule_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "meshwright/rules/call_for_test.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RuledCall : public CallForTest {
 public:
  using CallForTest::CallForTest;

  absl::StatusOr<Rule> Parse(absl::string_view text) const {
    return ParseRule(text, call);
  }
  std::string Local(absl::string_view text, const Rule& rule,
                    const Strategy& strategy, const Mesh& mesh) const {
    return LocalRuleText(text, call, rule, strategy, mesh);
  }
  std::string Error(absl::string_view text) const {
    return std::string(Parse(text).status().message());
  }
};

const RuledCall& Attention() {
  static const auto* const call =
      new RuledCall({{8, 128, 4, 32}, {8, 96, 4, 32}, {8, 96, 4, 32}},
                    {{8, 128, 4, 32}, {8, 4, 128}});
  return *call;
}

std::vector<FactorKind> Kinds(const Rule& rule) {
  std::vector<FactorKind> kinds;
  for (const Factor& factor : rule.factors) kinds.push_back(factor.kind);
  return kinds;
}

TEST(RuleTextTest, Attention) {
  const absl::StatusOr<Rule> rule = Attention().Parse(
      "b t n h, b s n h, b s n h -> b t n h, b n t {need_replication: t s h}");
  ASSERT_TRUE(rule.ok()) << rule.status();
  EXPECT_THAT(Kinds(*rule), ElementsAre(FactorKind::kKept, FactorKind::kWhole,
                                        FactorKind::kKept, FactorKind::kWhole,
                                        FactorKind::kWhole));
  EXPECT_EQ(rule->factors[2].size, 4);
  EXPECT_THAT(rule->operands[1], ElementsAre(DimFactors{0}, DimFactors{4},
                                             DimFactors{2}, DimFactors{3}));
  EXPECT_THAT(rule->results[1],
              ElementsAre(DimFactors{0}, DimFactors{2}, DimFactors{1}));
}

TEST(RuleTextTest, SumsLeadingDimensionsAndParts) {
  const RuledCall call({{2, 3, 24, 8}, {8, 5}, {}}, {{2, 3, 6, 20}});
  const absl::StatusOr<Rule> rule =
      call.Parse("... (g r) k, k j, -> ... g (r j) {g=6} {reduction: k}");
  ASSERT_TRUE(rule.ok()) << rule.status();
  // Leading two, g, r, k, j.
  ASSERT_EQ(rule->factors.size(), 6u);
  EXPECT_EQ(rule->factors[2].size, 6);
  EXPECT_EQ(rule->factors[3].size, 4);
  EXPECT_EQ(rule->factors[4].kind, FactorKind::kReduced);
  EXPECT_EQ(rule->factors[5].size, 5);
  EXPECT_THAT(rule->operands[0][2], ElementsAre(2, 3));
  EXPECT_THAT(rule->results[0][3], ElementsAre(3, 5));
  EXPECT_TRUE(rule->operands[2].empty());
}

// As the gradients of a norm: rows are split, the scale's gradient is a sum.
TEST(RuleTextTest, SomeResultsAreSums) {
  const RuledCall call({{8, 4}, {4}}, {{8, 4}, {4}, {0}});
  const absl::StatusOr<Rule> rule =
      call.Parse("b n, n -> b n, n, w {reduction max: b; need_replication: n}");
  ASSERT_TRUE(rule.ok()) << rule.status();
  EXPECT_EQ(rule->factors[0].reduction, Reduction::kMax);
  const Mesh mesh = *Mesh::Parse("data=2");
  Strategy strategy{.factor_axes = std::vector<AxisList>(3)};
  strategy.factor_axes[0] = mesh.AllSubAxes();
  ASSERT_TRUE(IsValid(*rule, strategy, mesh));
  EXPECT_FALSE(ResultSharding(*rule, strategy, 0, mesh).IsPending());
  const Sharding sum = ResultSharding(*rule, strategy, 1, mesh);
  EXPECT_EQ(sum.pending, mesh.AllSubAxes());
  EXPECT_EQ(sum.reduction, Reduction::kMax);
}

TEST(RuleTextTest, WhatShardyWrites) {
  const RuledCall call({{8, 6}, {6, 4}}, {{8, 4}, {16}});
  const absl::StatusOr<Rule> rule = call.Parse(
      "#sdy.op_sharding_rule<([i, kl], [kl, j])->([i, j], [z_1]) "
      "{i=8, j=4, k=2, l=3, z_1=16} reduction={k, l} "
      "need_replication={j}, custom>");
  ASSERT_TRUE(rule.ok()) << rule.status();
  EXPECT_THAT(
      Kinds(*rule),
      ElementsAre(FactorKind::kKept, FactorKind::kReduced, FactorKind::kReduced,
                  FactorKind::kWhole, FactorKind::kWhole));
  EXPECT_THAT(rule->operands[1][0], ElementsAre(1, 2));
}

TEST(RuleTextTest, TheRestAnywhereAndInBraces) {
  const RuledCall call({{8, 4, 6}, {6}}, {{6, 8, 4}, {6}, {1}});
  const absl::StatusOr<Rule> rule =
      call.Parse("... n, n -> n ..., n, a {reduction max: ...; reduction: n}");
  ASSERT_TRUE(rule.ok()) << rule.status();
  EXPECT_THAT(Kinds(*rule),
              ElementsAre(FactorKind::kReduced, FactorKind::kReduced,
                          FactorKind::kReduced, FactorKind::kWhole));
  EXPECT_EQ(rule->factors[1].reduction, Reduction::kMax);
  EXPECT_EQ(rule->factors[2].reduction, Reduction::kSum);
  EXPECT_EQ(rule->results[0],
            (TensorFactors{rule->operands[0][2], rule->operands[0][0],
                           rule->operands[0][1]}));
}

TEST(RuleTextTest, SaysWhatIsWrong) {
  const RuledCall dot({{8, 6}, {6, 4}}, {{8, 4}});
  const std::pair<const char*, const char*> cases[] = {
      {"i k, k j", "expected '->'"},
      {"i k -> i j", "it has 2 operands, the rule 1"},
      {"i k, k j -> i j, i", "it has 1 results, the rule 2"},
      {"i k, k j x -> i j {reduction: k}",
       "operand 1 f32[6,4] has 2 dimensions, the rule 3"},
      {"i k, i j -> i j {reduction: k}",
       "operand 1 f32[6,4]: dimension 0 is 6, but i is 8"},
      {"i k, k j -> i j",
       "result 0 has no factor k; {reduction: k} if it is a sum over it"},
      {"i k, k j -> i j {reduction: i k}",
       "factor i is reduced, but every result has it"},
      {"i k, k j -> i j {reduction: k; need_replication: z}",
       "no tensor has a factor z"},
      {"i k, k j -> i j {sum: k}", "'sum' is no kind of factor"},
      {"i i, k j -> i j {reduction: k}",
       "operand 0: factor i stands there twice"},
      {"(a b) k, k j -> (a b) j {reduction: k}",
       "operand 0, dimension 0: how large are a and b?"},
      {"(a b) k, k j -> (a b) j {a=3; reduction: k}",
       "operand 0 f32[8,6], dimension 0: 3 does not divide it"},
      {"... ..., k j -> k j", "operand 0: '...' stands for dimensions, once"},
      {"i k, k j -> i j {reduction: k; need_replication: ...}",
       "no tensor has a factor ..."},
      {"#sdy.op_sharding_rule<([i], [k, j])->([i, j]) {i=8, j=4, k=6}>",
       "operand 0 f32[8,6] has 2 dimensions, the rule 1"},
  };
  for (const auto& [text, error] : cases) {
    EXPECT_THAT(dot.Error(text), HasSubstr(error)) << text;
  }
}

TEST(RuleTextTest, SizesOfParts) {
  const RuledCall call({{8, 32}, {32}}, {{8, 32}});
  const Mesh mesh = Mesh::Create({{"data", 2}, {"model", 4}}).value();
  const auto local = [&](absl::string_view text) {
    const Rule rule = *call.Parse(text);
    Strategy strategy;
    strategy.factor_axes.resize(rule.factors.size());
    strategy.factor_axes[0] = mesh.SubAxes(0);
    strategy.factor_axes[1] = mesh.SubAxes(1);
    return call.Local(text, rule, strategy, mesh);
  };
  EXPECT_EQ(local("b (g r), (g r) -> b (g r) {b=8} {g=16; r=2}"),
            "b (g r), (g r) -> b (g r) {b=4} {g=4; r=2}");
  EXPECT_EQ(local("#sdy.op_sharding_rule<([i, jk], [jk])->([i, jk]) {i=8, j=4, "
                  "k=8} need_replication={k}, custom>"),
            "#sdy.op_sharding_rule<([i, jk], [jk])->([i, jk]) {i=4, j=1, "
            "k=8} need_replication={k}, custom>");
}

}  // namespace
}  // namespace meshwright
