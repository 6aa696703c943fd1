#include "meshwright/pipeline_search/split_for_stages.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/search/zoo_for_test.h"

namespace meshwright {
namespace {

struct PiecesCase {
  const char* name;
  int64_t count;
  double begin;
  double end;
  std::vector<double> boundaries;
  std::vector<int64_t> want;
};

class PiecesOfTest : public ::testing::TestWithParam<PiecesCase> {};

TEST_P(PiecesOfTest, FollowsTheWork) {
  const PiecesCase& test = GetParam();
  EXPECT_EQ(PiecesOf(test.count, test.begin, test.end, test.boundaries,
                     /*tolerance=*/0.01),
            test.want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, PiecesOfTest,
    ::testing::ValuesIn<PiecesCase>({
        {"Halves", 12, 0, 1, {0.5}, {6}},
        {"HeavyHead", 12, 0, 12.0 / 14, {0.5}, {7}},
        {"NearlyThere", 12, 0, 0.99, {0.5}, {6}},
        {"InsideOfALayer", 5, 0, 1, {0.5}, {2, 3}},
        {"TenOnFour", 10, 0, 1, {0.25, 0.5, 0.75}, {2, 3, 5, 7, 8}},
        {"FewerLayersThanStages", 2, 0, 1, {0.25, 0.5, 0.75}, {1}},
        {"BoundariesElsewhere", 4, 0.6, 0.7, {0.5}, {}},
    }),
    [](const auto& test) { return test.param.name; });

TEST(SplitForStagesTest, LayersOfTheZoo) {
  for (const char* name : {"llama", "gpt_scan"}) {
    const Module module = ReadTiny(name);
    const ModuleRoles roles = AnalyzeRoles(module);
    const auto split = SplitLoopsForStages(module, roles, 2);
    ASSERT_TRUE(split.ok()) << split.status();
    ASSERT_TRUE(split->has_value()) << name;
    const ModuleRoles parts = AnalyzeRoles((*split)->module);
    EXPECT_TRUE(parts.warnings.empty()) << parts.warnings[0];
    EXPECT_EQ(parts.outputs[*parts.loss].name, roles.outputs[*roles.loss].name);
    EXPECT_GT(parts.state_pairs.size(), roles.state_pairs.size() * 3 / 2);
  }
}

TEST(SplitForStagesTest, AsAskedFor) {
  const Module module = ReadTiny("llama");
  const ModuleRoles roles = AnalyzeRoles(module);
  const auto split = SplitLoopsAt(module, roles, {{"*", 0, 1}});
  ASSERT_TRUE(split.ok()) << split.status();
  ASSERT_TRUE(split->has_value());
  int named = 0;
  for (const auto& instruction : (*split)->module.entry()->instructions()) {
    named += instruction->metadata.op_name.ends_with("[0:1]") ? 1 : 0;
  }
  EXPECT_GT(named, 20);
  const auto nothing = SplitLoopsAt(module, roles, {{"elsewhere", 0, 1}});
  ASSERT_TRUE(nothing.ok()) << nothing.status();
  EXPECT_FALSE(nothing->has_value());
  EXPECT_THAT(
      std::string(
          SplitLoopsAt(module, roles, {{"*", 1, 3}}).status().message()),
      ::testing::HasSubstr("\"*[1:3]\""));
}

TEST(ParseLoopRangeTest, ReadsWhatEndsInIterations) {
  const auto range = ParseLoopRange("*encoder*[2:12]");
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->loop, "*encoder*");
  EXPECT_EQ(range->begin, 2);
  EXPECT_EQ(range->end, 12);
  for (const char* other :
       {"", "]", "dot.3", "w[2]", "w[a:b]", "w[1:2", "[:]"}) {
    EXPECT_FALSE(ParseLoopRange(other).has_value()) << other;
  }
}

TEST(SplitForStagesTest, NothingToSplit) {
  const Module gpt = ReadTiny("gpt");
  const auto split = SplitLoopsForStages(gpt, AnalyzeRoles(gpt), 2);
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_FALSE(split->has_value());
  const Module llama = ReadTiny("llama");
  const auto one = SplitLoopsForStages(llama, AnalyzeRoles(llama), 1);
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_FALSE(one->has_value());
}

}  // namespace
}  // namespace meshwright
