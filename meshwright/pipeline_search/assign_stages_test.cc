#include "meshwright/pipeline_search/assign_stages.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/pipeline_search/refine_stages.h"
#include "meshwright/pipeline_search/stage_cases_for_test.h"

namespace meshwright {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::UnorderedElementsAre;

void ExpectBest(const StageGraph& graph, const StageLimits& limits) {
  const auto want = BruteForceStages(graph, limits);
  const auto got = AssignStages(graph, limits);
  ASSERT_EQ(got.ok(), want.has_value()) << got.status();
  if (!got.ok()) return;
  EXPECT_TRUE(CheckStages(graph, limits, got->stages).ok());
  EXPECT_EQ(got->cost.cut_bytes, want->cost.cut_bytes);
  EXPECT_NEAR(got->cost.balance, want->cost.balance, 1e-9);
  EXPECT_NEAR(got->allowed_balance, want->allowed, 1e-9);
  EXPECT_EQ(got->bytes_bound, want->cost.cut_bytes);
}

TEST(AssignStages, EqualsBruteForceOnRandomGraphsWithSkips) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const int32_t stages = 2 + static_cast<int32_t>(seed % 3);
    const StageGraph graph = RandomStageGraph(
        random, {.nodes = stages == 4 ? 7 : 9, .light = seed % 5 == 0});
    ExpectBest(graph, StageLimits::Even(stages, seed % 2 == 0 ? 0.05 : 0.4));
  }
}

TEST(AssignStages, EqualsBruteForceWithFixedStagesAndGroups) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    ExpectBest(
        RandomStageGraph(random, {.fixed = true, .groups = seed % 2 == 0}),
        StageLimits::Even(3, 0.3));
  }
}

TEST(AssignStages, EqualsBruteForceOnUnequalStagesWithLittleMemory) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    ExpectBest(RandomStageGraph(random, {}),
               {.capacity = {2, 1, 1}, .tolerance = 0.2, .memory = {10, 7, 8}});
  }
}

TEST(AssignStages, EqualsBruteForceWhereNoStageMayBeIdle) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    ExpectBest(RandomStageGraph(random, {.light = seed % 2 == 0}),
               {.capacity = {1, 1, 1}, .tolerance = 0.3, .least = 0.5});
  }
}

// A limit on the balance that some assignment meets changes nothing; one that
// none meets leaves nothing.
TEST(AssignStages, LessBalancedOnesThanUsefulAreNotSearched) {
  int refused = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const StageGraph graph = RandomStageGraph(random, {});
    const StageLimits limits = StageLimits::Even(3, 0.05);
    const auto best = AssignStages(graph, limits);
    ASSERT_TRUE(best.ok()) << best.status();
    const double needed =
        std::max(best->allowed_balance / (1 + limits.tolerance), 1.0);
    const auto same =
        AssignStages(graph, limits, {.most_balance = needed * 1.001});
    ASSERT_TRUE(same.ok()) << same.status();
    EXPECT_EQ(same->stages, best->stages);
    if (best->allowed_balance <= 1 + limits.tolerance) continue;
    ++refused;
    const absl::Status none =
        AssignStages(graph, limits, {.most_balance = needed * 0.999}).status();
    EXPECT_EQ(none.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(none.message(), "no 3 stages are even enough");
  }
  EXPECT_GT(refused, 10);
}

TEST(AssignStages, GivesUpWhenTheTimeIsOver) {
  std::mt19937 random(1);
  const auto late =
      AssignStages(RandomStageGraph(random, {}), StageLimits::Even(3, 0.05),
                   {.deadline = absl::InfinitePast()});
  EXPECT_EQ(late.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(late.status().message(), HasSubstr("into 3 stages"));
}

// Ten layers on eight stages: of two layers each, five would do, and what is
// cheapest to cut off has no work. All get a layer instead.
TEST(AssignStages, NoStageIsLeftWithoutWork) {
  StageGraph graph;
  for (int32_t layer = 0; layer < 10; ++layer) {
    const int32_t cast = graph.size();
    graph.nodes.push_back({.name = "cast"});
    graph.nodes.push_back({.work = 1, .name = "layer"});
    graph.values.push_back(
        {.bytes = 1, .producer = cast, .consumers = {cast + 1}});
    if (layer == 0) continue;
    graph.values.push_back(
        {.bytes = 100, .producer = cast - 1, .consumers = {cast + 1}});
  }
  StageLimits limits = StageLimits::Even(8, 0.1);
  const auto works = [&] {
    std::vector<double> work(8);
    const auto got = AssignStages(graph, limits);
    EXPECT_TRUE(got.ok()) << got.status();
    for (int32_t node = 0; got.ok() && node < graph.size(); ++node) {
      work[got->stages[node]] += graph.nodes[node].work;
    }
    return work;
  };
  EXPECT_THAT(works(), Contains(0));
  limits.least = 0.5;
  EXPECT_THAT(works(), Each(AllOf(Ge(1), Le(2))));
}

// A part with 96 % of the work has a stage of its own; the others have just
// what they need at least, 2 % each.
TEST(AssignStages, TheHeaviestPartLeavesTheOthersTheirLeast) {
  StageGraph graph;
  for (const double work : {2.0, 96.0, 2.0}) {
    graph.nodes.push_back({.work = work, .name = "part"});
  }
  StageLimits limits = StageLimits::Even(3, 0.1);
  limits.least = 0.06;  // Of a third.
  const auto got = AssignStages(graph, limits);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_THAT(got->stages, UnorderedElementsAre(0, 1, 2));
  limits.least = 0.07;
  EXPECT_FALSE(AssignStages(graph, limits).ok());
}

// With no room for all down-sets, nodes are merged or only orders looked at:
// valid all the same, and the bound holds.
TEST(AssignStages, BoundsHoldWhereNotAllIsLookedAt) {
  int optimal = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const StageGraph graph =
        RandomStageGraph(random, {.nodes = 9, .light = seed % 2 == 0});
    const StageLimits limits =
        StageLimits::Even(2 + static_cast<int32_t>(seed % 2), 0.2);
    const auto want = BruteForceStages(graph, limits);
    const auto got = AssignStages(graph, limits, {.policy = {.down_sets = 8}});
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_TRUE(CheckStages(graph, limits, got->stages).ok());
    if (got->allowed_balance > want->allowed * (1 + 1e-9)) continue;
    EXPECT_GE(got->cost.cut_bytes, want->cost.cut_bytes);
    EXPECT_LE(got->bytes_bound, want->cost.cut_bytes);
    if (got->cost.cut_bytes == want->cost.cut_bytes) ++optimal;
  }
  EXPECT_GE(optimal, 90);
}

// Of two stages without bounds on work, any start leads to a cheapest cut.
TEST(RefineStages, FindsCheapestCutsOfTwoStages) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    StageGraph graph = RandomStageGraph(random, {});
    graph.nodes.front().fixed = StageId(0);
    graph.nodes.back().fixed = StageId(1);
    const StageLimits limits = StageLimits::Even(2, 10);
    std::vector<StageId> start(graph.nodes.size(), StageId(1));
    start[0] = StageId(0);
    const std::vector<StageId> refined =
        RefineStages(graph, limits, {1e9, 1e9}, start);
    ASSERT_TRUE(CheckStages(graph, limits, refined).ok());
    EXPECT_EQ(CostOf(graph, limits, refined).cut_bytes,
              BruteForceStages(graph, limits)->cost.cut_bytes);
  }
}

// a1 -> a2 and b1 -> b2 side by side, joined at the end: in the order of the
// nodes every cut parts both, on the graph none does.
TEST(AssignStages, BranchesSideBySideAreNotTornApart) {
  StageGraph graph;
  for (const char* name : {"a1", "b1", "a2", "b2"}) {
    graph.nodes.push_back({.work = 1, .held = 0, .name = name});
  }
  graph.values = {{.bytes = 100, .producer = 0, .consumers = {2}},
                  {.bytes = 100, .producer = 1, .consumers = {3}},
                  {.bytes = 1, .producer = 2, .consumers = {3}}};
  const auto got = AssignStages(graph, StageLimits::Even(2, 0));
  ASSERT_TRUE(got.ok());
  EXPECT_THAT(got->stages, ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(got->cost, (CutCost{.cut_bytes = 1, .balance = 1}));
}

TEST(AssignStages, NamesWhatCannotBe) {
  StageGraph graph;
  graph.nodes = {{.work = 1, .fixed = StageId(1), .name = "early"},
                 {.work = 1, .fixed = StageId(0), .name = "late"}};
  graph.values = {{.bytes = 1, .producer = 0, .consumers = {1}}};
  const auto fixed = AssignStages(graph, StageLimits::Even(2, 0));
  EXPECT_EQ(fixed.status().message(),
            "late is to be on stage 0, but needs early on stage 1");
  const auto many = AssignStages(graph, StageLimits::Even(1, 0));
  EXPECT_THAT(many.status().message(), HasSubstr("there are 1 stages"));
  graph.nodes[0].fixed = graph.nodes[1].fixed = kAnyStage;
  EXPECT_EQ(AssignStages(graph, StageLimits::Even(3, 0)).status().message(),
            "3 stages are more than the 2 parts that there are");
}

}  // namespace
}  // namespace meshwright
