#include "meshwright/pipeline_search/stage_moves.h"

#include <random>

#include "gtest/gtest.h"
#include "meshwright/pipeline_search/cut_down_sets.h"
#include "meshwright/pipeline_search/stage_cases_for_test.h"

namespace meshwright {
namespace {

// With prices for what is elsewhere, the best stages of clusters cut no more
// than the best of nodes.
TEST(StageMoves, BoundsHold) {
  int tight = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const StageGraph graph = RandomStageGraph(
        random, {.nodes = seed % 2 != 0 ? 9 : 8, .light = seed % 3 != 0});
    const StageLimits limits =
        StageLimits::Even(seed % 2 != 0 ? 2 : 3, 0.05 + 0.1 * (seed % 4));
    const auto best = BruteForceStages(graph, limits);
    ASSERT_TRUE(best.has_value());
    const auto single = MergeGroups(graph);
    ASSERT_TRUE(single.ok());
    StageClusters clusters = MergeLight(*single, {});
    clusters = MergeLight(clusters, {.moved_work = 1.0 + seed % 4,
                                     .added_bytes = int64_t{seed % 5} * 3});
    const StageMoves moves(*single, clusters);
    const auto sets = AllDownSets(clusters.graph, 10000);
    ASSERT_TRUE(sets.has_value());
    const DownSetCutter cutter(clusters.graph, limits, *sets,
                               clusters.unmoved_work, &moves);
    const int64_t bound = cutter.FewestBytes(
        limits.BoundsOf(graph.TotalWork(), best->allowed), 1'000'000);
    EXPECT_LE(bound, best->cost.cut_bytes);
    if (bound == best->cost.cut_bytes) ++tight;
  }
  EXPECT_GE(tight, 300);
}

}  // namespace
}  // namespace meshwright
