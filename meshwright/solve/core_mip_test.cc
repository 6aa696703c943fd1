#include "meshwright/solve/core_mip.h"

#include <gtest/gtest.h>

#include "meshwright/solve/brute_force_for_test.h"

namespace meshwright {
namespace {

TEST(CoreMipTest, FindsTheOptimumAlone) {
  int found = 0;
  for (uint64_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = RandomProblem(
        {.nodes = 8, .most_options = 4, .edges = 20, .forbidden = 0.05}, seed);
    const auto best = BruteForce(problem);
    Graph graph(problem);
    const Core core = BuildCore(graph);
    const CoreMipAnswer answer = SolveCoreMip(core, {}, 100000, {});
    ASSERT_EQ(answer.choice.empty(), !best.has_value());
    if (!best.has_value()) {
      EXPECT_EQ(answer.bound, 100000);
      continue;
    }
    ++found;
    const int64_t optimum = Evaluate(problem, *best).cost - core.constant;
    EXPECT_EQ(answer.cost, optimum);
    EXPECT_EQ(answer.bound, optimum);
    // Nothing is cheaper than the optimum, and HiGHS says so.
    const CoreMipAnswer none = SolveCoreMip(core, answer.choice, optimum, {});
    EXPECT_TRUE(none.choice.empty());
    EXPECT_EQ(none.bound, optimum);
  }
  EXPECT_GT(found, 30);
}

TEST(CoreMipTest, StopsWithAValidBound) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Problem problem = RandomProblem(
        {.nodes = 8, .most_options = 4, .edges = 20, .forbidden = 0.02}, seed);
    const auto best = BruteForce(problem);
    if (!best.has_value()) continue;
    Graph graph(problem);
    const Core core = BuildCore(graph);
    const int64_t optimum = Evaluate(problem, *best).cost - core.constant;
    const CoreMipAnswer answer =
        SolveCoreMip(core, {}, 100000, {.iterations = 1});
    EXPECT_LE(answer.bound, optimum);
  }
}

}  // namespace
}  // namespace meshwright
