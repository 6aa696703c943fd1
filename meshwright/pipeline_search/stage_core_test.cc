#include "meshwright/pipeline_search/stage_core.h"

#include <random>

#include "gtest/gtest.h"
#include "meshwright/pipeline_search/stage_cases_for_test.h"
#include "meshwright/pipeline_search/stage_mip.h"
#include "meshwright/pipeline_search/stage_moves.h"

namespace meshwright {
namespace {

std::vector<double> WorkOf(const StageGraph& graph) {
  std::vector<double> work;
  for (const StageGraph::Node& node : graph.nodes) work.push_back(node.work);
  return work;
}

// The programme alone, nothing known.
TEST(StageMip, EqualsBruteForce) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const StageGraph graph = RandomStageGraph(random, {.nodes = 8});
    StageLimits limits = StageLimits::Even(2 + seed % 2, 0.4);
    if (seed % 3 == 0) limits.memory.assign(limits.stages(), 12);
    const auto best = BruteForceStages(graph, limits);
    if (!best.has_value()) continue;
    std::vector<double> bounds =
        limits.BoundsOf(graph.TotalWork(), best->allowed);
    for (double& bound : bounds) bound *= 1 + 1e-9;
    StageMip mip(
        graph,
        std::vector<StageRange>(graph.nodes.size(),
                                {StageId(0), StageId(limits.stages() - 1)}),
        WorkOf(graph), bounds);
    mip.LimitMemory(limits.memory);
    mip.UseAllStages();
    const auto answer = SolveMip(mip.mip(), {});
    ASSERT_TRUE(answer.ok()) << answer.status();
    ASSERT_EQ(answer->end, MipEnd::kOptimal);
    const std::vector<StageId> stages = mip.StagesOf(answer->values);
    ASSERT_TRUE(CheckStages(graph, limits, stages).ok());
    const CutCost cost = CostOf(graph, limits, stages);
    EXPECT_EQ(cost.cut_bytes, best->cost.cut_bytes);
    EXPECT_LE(cost.balance, best->allowed * (1 + 1e-8));
    EXPECT_NEAR(mip.BytesOf(answer->cost), static_cast<double>(cost.cut_bytes),
                1e-6);
    EXPECT_EQ(mip.StagesOf(mip.ValuesOf(stages)), stages);
  }
}

// Ranges and the core of them, on clusters: bounds hold, and what is better
// than something known is found.
TEST(StageCore, FindsWhatIsBetterThanKnown) {
  int found = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const StageGraph graph =
        RandomStageGraph(random, {.nodes = 9, .light = true});
    const StageLimits limits = StageLimits::Even(2 + seed % 2, 0.2);
    const auto best = BruteForceStages(graph, limits);
    ASSERT_TRUE(best.has_value());
    const auto single = MergeGroups(graph);
    ASSERT_TRUE(single.ok());
    const StageClusters clusters =
        MergeLight(*single, {.moved_work = 2, .added_bytes = 4});
    const StageMoves moves(*single, clusters);
    const auto sets = AllDownSets(clusters.graph, 10000);
    ASSERT_TRUE(sets.has_value());
    const DownSetCutter cutter(clusters.graph, limits, *sets,
                               clusters.unmoved_work, &moves);
    const std::vector<double> bounds =
        limits.BoundsOf(graph.TotalWork(), best->allowed);
    const int64_t optimum = best->cost.cut_bytes;
    for (const int64_t known : {optimum, optimum + 1, optimum + 7}) {
      EXPECT_LE(cutter.FewestBytes(bounds, known), optimum);
      const std::vector<StageRange> ranges = cutter.RangesBelow(bounds, known);
      StageCore core{
          .clusters = &*single,
          .ranges = std::vector<StageRange>(
              graph.nodes.size(), {StageId(0), StageId(limits.stages() - 1)}),
          .balance = best->allowed,
          .known = known,
          .start = std::vector<StageId>(graph.nodes.size())};
      for (int32_t cluster = 0; cluster < clusters.graph.size(); ++cluster) {
        core.ranges[moves.unmoved()[cluster]] = ranges[cluster];
      }
      const StageCoreAnswer answer = SolveStageCore(core, limits);
      EXPECT_LE(answer.bytes_bound, optimum);
      if (known == optimum) {
        EXPECT_TRUE(answer.stages.empty());
      } else if (!answer.stages.empty()) {
        ++found;
        EXPECT_TRUE(CheckStages(graph, limits, answer.stages).ok());
        const CutCost cost = CostOf(graph, limits, answer.stages);
        EXPECT_LT(cost.cut_bytes, known);
        EXPECT_GE(cost.cut_bytes, optimum);
      }
    }
  }
  EXPECT_GE(found, 105);
}

}  // namespace
}  // namespace meshwright
