#include "meshwright/rules/suggest_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/hlo/kernel_calls.h"
#include "meshwright/hlo/module.h"
#include "meshwright/rules/call_for_test.h"
#include "meshwright/rules/rule.h"
#include "meshwright/rules/rule_text.h"
#include "meshwright/rules/shape_bound.h"

namespace meshwright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Case {
  std::string name;
  std::vector<Dimensions> operands;
  std::vector<Dimensions> results;
  std::string rule;
};

class SuggestedRuleTest : public ::testing::TestWithParam<Case> {};

TEST_P(SuggestedRuleTest, FitsTheCallAndSplitsIt) {
  const Case& one = GetParam();
  const CallForTest made(one.operands, one.results);
  EXPECT_EQ(SuggestRule(made.call), one.rule);
  const absl::StatusOr<Rule> rule = ParseRule(one.rule, made.call);
  ASSERT_TRUE(rule.ok()) << rule.status();
  // Only the batch's factor may be split, and it may be.
  int split = 0;
  for (const Factor& factor : rule->factors) {
    split += factor.kind != FactorKind::kWhole;
  }
  EXPECT_EQ(split, 1);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, SuggestedRuleTest,
    ::testing::Values(
        Case{"Norm",
             {{32, 128}, {128}},
             {{32, 128}, {32}, {0}},
             "b c, c -> b c, b, d {need_replication: c}"},
        Case{"GradientsOfWeightsAreSums",
             {{32, 128}, {128}, {32, 128}},
             {{32, 128}, {128}, {0}},
             "b c, c, b c -> b c, c, d {reduction: b; need_replication: c}"},
        Case{"Attention",
             {{8, 128, 4, 32}, {8, 96, 4, 32}, {8, 96, 4, 32}},
             {{8, 128, 4, 32}, {8, 4, 128}},
             "b c d e, b f d e, b f d e -> b c d e, b d c "
             "{need_replication: c d e f}"},
        Case{"WeightsFirst",
             {{64, 16}, {32, 64}},
             {{32, 16}},
             "c d, b c -> b d {need_replication: c d}"},
        Case{"ABatchesPlaceIsFirst",  // The weight's 32 is another one.
             {{32, 64}, {64, 32}},
             {{32, 32}},
             "b c, c d -> b d {need_replication: c d}"},
        Case{"EqualSizes",
             {{16, 16, 16}},
             {{16, 16, 16}},
             "b c d -> b c d {need_replication: c d}"},
        Case{"LeadingOnes",
             {{1, 32, 128}},
             {{1, 32, 128}},
             "c b d -> c b d {need_replication: c d}"},
        Case{"Scalars", {{}, {32}, {}}, {{32}}, ", b,  -> b"},
        Case{"Loss",
             {{32, 10}, {32}},
             {{}},
             "b c, b ->  {reduction: b; need_replication: c}"}),
    [](const auto& one) { return one.param.name; });

TEST(SuggestRuleTest, ManyDimensionsHaveNamesOfTheirOwn) {
  Dimensions many;
  for (int64_t i = 0; i < 60; ++i) many.push_back(i + 2);
  const CallForTest made({many}, {many});
  EXPECT_TRUE(SuggestRule(made.call).has_value());
}

TEST(SuggestRuleTest, NoneWhereNoRuleCanSplit) {
  EXPECT_FALSE(SuggestRule(CallForTest({}, {{1024}}).call).has_value());
  EXPECT_FALSE(
      SuggestRule(CallForTest({{}, {1, 1}}, {{1024}}).call).has_value());
  CallForTest effect({{32}}, {{32}});
  effect.call.attributes.mutate().custom_call_has_side_effect = true;
  EXPECT_FALSE(SuggestRule(effect.call).has_value());
  EXPECT_THAT(AdviceOnRule(effect.call), HasSubstr("has_side_effect=False"));
  CallForTest other({{32}}, {{32}});
  other.call.opcode = Opcode::kInfeed;
  EXPECT_FALSE(SuggestRule(other.call).has_value());
  EXPECT_THAT(AdviceOnRule(other.call), Not(HasSubstr("--rules")));
}

TEST(SuggestRuleTest, AdviceIsAnEntryOfARulesFile) {
  EXPECT_THAT(AdviceOnRule(CallForTest({{32, 8}}, {{32, 8}}).call),
              HasSubstr("{\"kernel\": \"b c -> b c {need_replication: c}\"}"));
  // What has to be true for it to be right.
  EXPECT_THAT(AdviceOnRule(CallForTest({{32, 8}}, {{32, 8}}).call),
              Not(HasSubstr("sums")));
  EXPECT_THAT(AdviceOnRule(CallForTest({{32, 8}}, {{8}}).call),
              HasSubstr("and sums over it what has none"));
}

// Pallas kernels have all one target, and programs for whole shapes.
TEST(SuggestRuleTest, CompiledKernelsAreToBeWrapped) {
  for (const char* target :
       {"__gpu$xla.gpu.triton", "triton_kernel_call", "triton_kernel_call_ffi",
        "mosaic_gpu", "mosaic_gpu_v2", "tpu_custom_call"}) {
    CallForTest made({{32, 8}}, {{32, 8}});
    made.call.attributes.mutate().custom_call_target = target;
    EXPECT_FALSE(SuggestRule(made.call).has_value()) << target;
    EXPECT_EQ(SuggestKernelRule(made.call), "b c -> b c {need_replication: c}");
    EXPECT_THAT(AdviceOnRule(made.call),
                AllOf(HasSubstr("meshwright.kernel(fn, rule=\"b c -> b c "),
                      Not(HasSubstr("--rules FILE"))));
  }
  EXPECT_FALSE(SuggestKernelRule(CallForTest({{32}}, {{32}}).call).has_value());
}

TEST(ShapeBoundTest, OnlyRulesThatSplitAreRefused) {
  CallForTest made({{32, 8}}, {{32, 8}});
  const auto check = [&](const char* rule) {
    return CheckMayBeSplit(made.call, ParseRule(rule, made.call).value());
  };
  EXPECT_TRUE(check("b c -> b c").ok());
  made.call.attributes.mutate().custom_call_target = "mosaic_gpu_v2";
  EXPECT_THAT(std::string(check("b c -> b c").message()),
              HasSubstr("meshwright.kernel(fn, rule=...)"));
  EXPECT_TRUE(check("b c -> b c {need_replication: b c}").ok());
  // A kernel of that name, with bodies for its shapes.
  Module module("step");
  made.call.called = {module.AddComputation("body")};
  made.call.frontend_attributes = {{kKernelAttribute, "mosaic_gpu_v2"}};
  EXPECT_TRUE(check("b c -> b c").ok());
}

TEST(HasDimensionsToSplitTest, MoreThanOneElementInSomeDimension) {
  EXPECT_FALSE(
      HasDimensionsToSplit(CallForTest({{}, {1, 1}}, {{1}, {0}}).call));
  EXPECT_FALSE(HasDimensionsToSplit(CallForTest({}, {{}}).call));
  EXPECT_TRUE(HasDimensionsToSplit(CallForTest({{}}, {{1, 2}}).call));
  EXPECT_TRUE(HasDimensionsToSplit(CallForTest({{2}}, {{}}).call));
}

}  // namespace
}  // namespace meshwright
