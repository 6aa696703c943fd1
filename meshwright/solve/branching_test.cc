#include "meshwright/solve/branching.h"

#include <gtest/gtest.h>

#include "meshwright/solve/brute_force_for_test.h"

namespace meshwright {
namespace {

// Branching alone, without incumbent, prices or messages to start from.
TEST(BranchingTest, FindsTheOptimumAlone) {
  int found = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = RandomProblem(
        {.nodes = 8, .most_options = 4, .edges = 24, .forbidden = 0.05}, seed);
    const auto best = BruteForce(problem);
    Graph graph(problem);
    const Core core = BuildCore(graph);
    Branching branching(core, FreshStart(core), kCoreInfinity, 1);
    branching.Run(1'000'000'000, [] { return false; });
    ASSERT_TRUE(branching.done());
    ASSERT_EQ(branching.best().empty(), !best.has_value());
    if (!best.has_value()) continue;
    ++found;
    const int64_t optimum = Evaluate(problem, *best).cost;
    EXPECT_EQ(branching.upper() + core.constant, optimum);
    EXPECT_EQ(branching.bound(), branching.upper());
    const Evaluation evaluation =
        Evaluate(problem, ExpandCore(graph, core, branching.best()));
    EXPECT_TRUE(evaluation.allowed());
    EXPECT_EQ(evaluation.cost, optimum);
  }
  EXPECT_GT(found, 50);
}

// A part of the work leaves a bound that holds.
TEST(BranchingTest, StopsWithAValidBound) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Problem problem = RandomProblem(
        {.nodes = 8, .most_options = 4, .edges = 24, .forbidden = 0.02}, seed);
    const auto best = BruteForce(problem);
    if (!best.has_value()) continue;
    Graph graph(problem);
    const Core core = BuildCore(graph);
    Branching branching(core, FreshStart(core), kCoreInfinity, 1);
    while (!branching.done()) {
      branching.Run(1, [] { return false; });
      EXPECT_LE(branching.bound() + core.constant,
                Evaluate(problem, *best).cost);
    }
  }
}

}  // namespace
}  // namespace meshwright
