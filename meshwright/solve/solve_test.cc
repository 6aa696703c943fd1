#include "meshwright/solve/solve.h"

#include <gtest/gtest.h>

#include "meshwright/solve/brute_force_for_test.h"

namespace meshwright {
namespace {

void ExpectSolved(const Problem& problem) {
  const auto best = BruteForce(problem);
  const auto solution =
      Solve(problem, {.time_limit_seconds = 20, .work_limit = 200000000});
  if (!best.has_value()) {
    EXPECT_FALSE(solution.ok());
    EXPECT_EQ(solution.status().code(), absl::StatusCode::kResourceExhausted)
        << solution.status();
    return;
  }
  ASSERT_TRUE(solution.ok()) << solution.status();
  const Evaluation evaluation = Evaluate(problem, solution->assignment);
  EXPECT_TRUE(evaluation.allowed());
  EXPECT_EQ(evaluation.cost, solution->cost);
  const int64_t optimum = Evaluate(problem, *best).cost;
  EXPECT_EQ(solution->cost, optimum);
  EXPECT_LE(solution->lower_bound, optimum);
  EXPECT_TRUE(solution->proved_optimal);
}

TEST(SolveTest, FindsTheOptimumWithoutLimit) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    ExpectSolved(RandomProblem({.edges = 14, .limited = false}, seed));
  }
}

TEST(SolveTest, FindsTheOptimumWithinLimits) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    ExpectSolved(RandomProblem({}, seed));
  }
}

}  // namespace
}  // namespace meshwright
