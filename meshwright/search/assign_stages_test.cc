#include "meshwright/search/assign_stages.h"

#include <algorithm>
#include <optional>
#include <random>
#include <tuple>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/search/refine_stages.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Best {
  CutCost cost;
  double allowed = 0;
};

// Tries all assignments.
std::optional<Best> BruteForce(const StageGraph& graph,
                               const StageLimits& limits) {
  std::vector<CutCost> costs;
  std::vector<int32_t> stages(graph.nodes.size());
  while (true) {
    if (CheckStages(graph, limits, stages).ok()) {
      costs.push_back(CostOf(graph, limits, stages));
    }
    size_t node = 0;
    while (node < stages.size() && ++stages[node] == limits.stages()) {
      stages[node++] = 0;
    }
    if (node == stages.size()) break;
  }
  if (costs.empty()) return std::nullopt;
  double least = costs[0].balance;
  for (const CutCost& cost : costs) least = std::min(least, cost.balance);
  const double wanted = 1 + limits.tolerance;
  Best best{.allowed = least <= wanted * (1 + 1e-9) ? wanted : least * wanted};
  std::optional<CutCost> found;
  for (const CutCost& cost : costs) {
    if (cost.balance > best.allowed * (1 + 1e-9)) continue;
    if (!found.has_value() || std::tie(cost.cut_bytes, cost.balance) <
                                  std::tie(found->cut_bytes, found->balance)) {
      found = cost;
    }
  }
  best.cost = *found;
  return best;
}

struct RandomOptions {
  int32_t nodes = 8;
  bool light = false;  // Most nodes have little work.
  bool fixed = false;
  bool groups = false;
};

StageGraph RandomGraph(std::mt19937& random, const RandomOptions& options) {
  const auto below = [&](int n) {
    return static_cast<int32_t>(random() % static_cast<unsigned>(n));
  };
  StageGraph graph;
  for (int32_t node = 0; node < options.nodes; ++node) {
    graph.nodes.push_back(
        {.work =
             options.light && below(3) != 0 ? 0.01 * below(3) : 1.0 + below(5),
         .held = 1 + below(4),
         .name = std::string(1, static_cast<char>('a' + node))});
    // Read what was made before, some of it from far.
    for (StageGraph::Value& value : graph.values) {
      if (below(4) == 0) value.consumers.push_back(node);
    }
    if (node > 0 && !graph.values.empty() &&
        (graph.values.back().consumers.empty() ||
         graph.values.back().consumers.back() != node)) {
      graph.values.back().consumers.push_back(node);
    }
    graph.values.push_back({.bytes = 1 + below(20),
                            .producer = below(6) == 0 ? kNoProducer : node,
                            .consumers = {}});
  }
  if (options.fixed) {
    graph.nodes[below(options.nodes / 2)].fixed = 0;
    graph.nodes[options.nodes / 2 + below(options.nodes / 2)].fixed = 1;
  }
  if (options.groups) {
    graph.groups = {{0, 2}, {options.nodes - 3, options.nodes - 1}};
  }
  return graph;
}

void ExpectBest(const StageGraph& graph, const StageLimits& limits) {
  const auto want = BruteForce(graph, limits);
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
    const StageGraph graph = RandomGraph(
        random, {.nodes = stages == 4 ? 7 : 9, .light = seed % 5 == 0});
    ExpectBest(graph, StageLimits::Even(stages, seed % 2 == 0 ? 0.05 : 0.4));
  }
}

TEST(AssignStages, EqualsBruteForceWithFixedStagesAndGroups) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    ExpectBest(RandomGraph(random, {.fixed = true, .groups = seed % 2 == 0}),
               StageLimits::Even(3, 0.3));
  }
}

TEST(AssignStages, EqualsBruteForceOnUnequalStagesWithLittleMemory) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    ExpectBest(RandomGraph(random, {}),
               {.capacity = {2, 1, 1}, .tolerance = 0.2, .memory = {10, 7, 8}});
  }
}

// With no room for all down-sets, nodes are merged or only orders looked at:
// valid all the same, and the bound holds.
TEST(AssignStages, BoundsHoldWhereNotAllIsLookedAt) {
  int optimal = 0;
  for (unsigned seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const StageGraph graph =
        RandomGraph(random, {.nodes = 9, .light = seed % 2 == 0});
    const StageLimits limits =
        StageLimits::Even(2 + static_cast<int32_t>(seed % 2), 0.2);
    const auto want = BruteForce(graph, limits);
    const auto got = AssignStages(graph, limits, {.down_sets = 8});
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
    StageGraph graph = RandomGraph(random, {});
    graph.nodes.front().fixed = 0;
    graph.nodes.back().fixed = 1;
    const StageLimits limits = StageLimits::Even(2, 10);
    std::vector<int32_t> start(graph.nodes.size(), 1);
    start[0] = 0;
    const std::vector<int32_t> refined =
        RefineStages(graph, limits, {1e9, 1e9}, start);
    ASSERT_TRUE(CheckStages(graph, limits, refined).ok());
    EXPECT_EQ(CostOf(graph, limits, refined).cut_bytes,
              BruteForce(graph, limits)->cost.cut_bytes);
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
  graph.nodes = {{.work = 1, .fixed = 1, .name = "early"},
                 {.work = 1, .fixed = 0, .name = "late"}};
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
