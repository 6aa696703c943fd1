#include "meshwright/solve/iopddl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_replace.h"
#include "meshwright/solve/brute_force_for_test.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

constexpr absl::string_view kExample = R"({"problem": {"name": "two",
  "nodes": {"intervals": [[0, 4], [2, 6]], "costs": [[3, 5], [4, 1]],
            "usages": [[8, 4], [6, 6]]},
  "edges": {"nodes": [[0, 1], [1, 0]], "costs": [[0, 9, 9, 0], [0, 9, 9, 0]]},
  "note": {"by": ["\"x\"", true, null, -1.5e3]},
  "usage_limit": 10}})";

TEST(ReadIopddlTest, ReadsAProblem) {
  const auto problem = ReadIopddl(kExample);
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_EQ(problem->name, "two");
  EXPECT_EQ(problem->nodes.size(), 2u);
  EXPECT_EQ(problem->tables.size(), 1u);
  const Evaluation evaluation = Evaluate(*problem, {0, 1});
  EXPECT_EQ(evaluation.cost, 3 + 1 + 9 + 9);
  EXPECT_EQ(evaluation.peak_usage, 14);
  EXPECT_EQ(evaluation.worst_excess, 4);
  EXPECT_EQ(evaluation.worst_time, 2);
  EXPECT_TRUE(Evaluate(*problem, {1, 1}).allowed());
}

TEST(ReadIopddlTest, NoLimitWhenItIsNull) {
  const auto problem = ReadIopddl(absl::StrReplaceAll(
      kExample, {{"\"usage_limit\": 10", "\"usage_limit\": null"}}));
  ASSERT_TRUE(problem.ok()) << problem.status();
  EXPECT_TRUE(problem->limits.empty());
}

struct BadCase {
  std::string name, from, to, message;
};

class ReadIopddlBadTest : public testing::TestWithParam<BadCase> {};

TEST_P(ReadIopddlBadTest, NamesTheCulprit) {
  const auto& [name, from, to, message] = GetParam();
  const std::string text = absl::StrReplaceAll(kExample, {{from, to}});
  ASSERT_NE(text, kExample);
  const auto problem = ReadIopddl(text);
  ASSERT_FALSE(problem.ok());
  EXPECT_EQ(problem.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(problem.status().message()), HasSubstr(message));
}

INSTANTIATE_TEST_SUITE_P(
    Table, ReadIopddlBadTest,
    testing::ValuesIn<BadCase>({
        {"Truncated", "\"usage_limit\": 10}}", "", "the text ends"},
        {"NoNumber", "[3, 5]", "[3, x]", "expected a number at byte"},
        {"Fraction", "[3, 5]", "[3, 5.5]", "not a whole 64-bit number"},
        {"NoProblem", "\"problem\"", "\"puzzle\"", "no member \"problem\""},
        {"NoUsages", "usages", "uses", "no member \"nodes.usages\""},
        {"NegativeCost", "[3, 5]", "[3, -5]",
         "node 0 has the negative cost -5"},
        {"NegativeUsage", "[8, 4]", "[-8, 4]",
         "node 0 has the negative usage -8"},
        {"UsageCount", "[8, 4]", "[8]", "node 0 has 2 costs but 1 usages"},
        {"IntervalCount", "[[0, 4], ", "[", "1 intervals, 2 lists of costs"},
        {"Interval", "[0, 4]", "[0]", "node 0: an interval of 1 times"},
        {"UnknownNode", "[1, 0]]", "[1, 2]]", "edge 1 names node 2"},
        {"OneEnd", "[1, 0]]", "[1]]", "edge 1 joins 1 nodes"},
        {"Cells", "[[0, 9, 9, 0], ", "[[0, 9, 9], ",
         "edge 0 joins nodes of 2 and 2 options with 3 costs"},
        {"EdgeCount", "[[0, 9, 9, 0], ", "[",
         "2 pairs of nodes and 1 lists of costs"},
        {"NoOptions", "\"costs\": [[3, 5], ", "\"costs\": [[], ",
         "edge 0 joins nodes of 0"},
        {"After", "10}}", "10}} x", "expected the end"},
    }),
    [](const auto& test) { return test.param.name; });

TEST(WriteIopddlTest, TheSameProblem) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Problem problem =
        RandomProblem({.nodes = 4, .edges = 5, .limited = seed % 3 != 0}, seed);
    const absl::StatusOr<Problem> read = ReadIopddl(WriteIopddl(problem));
    ASSERT_TRUE(read.ok()) << read.status();
    const auto best = BruteForce(problem);
    const auto same = BruteForce(*read);
    ASSERT_EQ(best.has_value(), same.has_value()) << seed;
    if (!best.has_value()) continue;
    EXPECT_EQ(Evaluate(problem, *best).cost, Evaluate(*read, *same).cost);
    // Its own nodes come first.
    const std::vector<int32_t> own(same->begin(), same->begin() + 4);
    EXPECT_TRUE(Evaluate(problem, own).allowed()) << seed;
    EXPECT_EQ(Evaluate(problem, own).cost, Evaluate(problem, *best).cost);
  }
}

TEST(ReadIopddlTest, DeepNestingIsRefused) {
  const std::string deep(100000, '[');
  EXPECT_FALSE(ReadIopddl("{\"x\": " + deep).ok());
}

}  // namespace
}  // namespace meshwright
