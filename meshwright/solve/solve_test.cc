#include "meshwright/solve/solve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "meshwright/base/stopwatch.h"
#include "meshwright/solve/brute_force_for_test.h"

namespace meshwright {
namespace {

void ExpectSolved(const Problem& problem) {
  const auto best = BruteForce(problem);
  const auto solution = Solve(problem, {.work_limit = 200'000'000});
  if (!best.has_value()) {
    EXPECT_EQ(solution.status().code(), absl::StatusCode::kResourceExhausted)
        << solution.status();
    return;
  }
  ASSERT_TRUE(solution.ok()) << solution.status();
  const Evaluation evaluation = Evaluate(problem, solution->assignment);
  EXPECT_TRUE(evaluation.allowed());
  EXPECT_EQ(evaluation.cost, solution->cost);
  EXPECT_EQ(solution->cost, Evaluate(problem, *best).cost);
  EXPECT_EQ(solution->lower_bound, solution->cost);
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

// Every assignment costs more than a core can tell from a forbidden one.
TEST(SolveTest, FindsTheOptimumOfLargeCosts) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = RandomProblem({}, seed);
    problem.nodes.push_back({.costs = {100}});
    const auto best = BruteForce(problem);
    const auto scale = [](int64_t& cost) {
      if (cost < kInfiniteCost) cost *= 251'000'000'000'000;
    };
    for (ProblemNode& node : problem.nodes) {
      std::ranges::for_each(node.costs, scale);
    }
    for (CostTable& table : problem.tables) {
      std::ranges::for_each(table.cells, scale);
    }
    const auto solution = Solve(problem, {.work_limit = 200'000'000});
    ASSERT_EQ(solution.ok(), best.has_value()) << solution.status();
    if (!best.has_value()) continue;
    EXPECT_EQ(solution->cost, Evaluate(problem, *best).cost);
    EXPECT_EQ(solution->lower_bound, solution->cost);
  }
}

TEST(SolveTest, FindsTheOptimumOfDenseProblems) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    ExpectSolved(RandomProblem(
        {.nodes = 8, .most_options = 3, .edges = 28, .forbidden = 0.02}, seed));
  }
}

// Layers of a few nodes each, as a planner makes them.
Problem Ladder(int nodes, uint64_t seed) {
  Random random(seed);
  Problem problem;
  int64_t usage = 0;
  for (int v = 0; v < nodes; ++v) {
    ProblemNode node;
    UsagePiece piece = {.first = v, .last = v + 2 + random.Below(20)};
    for (int a = 0; a < 8; ++a) {
      node.costs.push_back(random.Below(100000));
      piece.usage.push_back(random.Below(1000));
    }
    usage += 300;
    node.pieces.push_back(piece);
    problem.nodes.push_back(node);
  }
  for (int v = 1; v < nodes; ++v) {
    for (const int back : {1, 1 + random.Below(4)}) {
      if (v < back) continue;
      CostTable table = {8, 8, {}};
      for (int i = 0; i < 64; ++i) {
        table.cells.push_back(i % 9 == 0 ? 0 : random.Below(80000));
      }
      problem.edges.push_back({v - back, v, problem.AddTable(table)});
    }
  }
  problem.limits.push_back({.limit = 12 * usage / nodes});
  return problem;
}

TEST(SolveTest, TheSameWorkGivesTheSameAnswer) {
  const Problem problem = Ladder(300, 5);
  const auto one = Solve(problem, {.work_limit = 40'000'000, .threads = 1});
  const auto two = Solve(problem, {.work_limit = 40'000'000, .threads = 2});
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->assignment, two->assignment);
  EXPECT_EQ(one->lower_bound, two->lower_bound);
  EXPECT_EQ(one->work, two->work);
  EXPECT_LE(one->lower_bound, one->cost);
}

TEST(SolveTest, StopsInTime) {
  const Problem problem = Ladder(1500, 6);
  const Stopwatch watch;
  const auto solution = Solve(problem, {.time_limit_seconds = 1.5});
  // Sanitizers and busy machines are slow; without a clock it takes minutes.
  EXPECT_LT(watch.seconds(), 5);
  if (!solution.ok()) {
    EXPECT_EQ(solution.status().code(), absl::StatusCode::kDeadlineExceeded);
    return;
  }
  EXPECT_TRUE(Evaluate(problem, solution->assignment).allowed());
}

TEST(SolveTest, StartsFromAnAssignment) {
  const Problem problem = Ladder(200, 7);
  const auto cold = Solve(problem, {.work_limit = 20'000'000});
  ASSERT_TRUE(cold.ok());
  const auto warm =
      Solve(problem, {.work_limit = 1, .initial = cold->assignment});
  ASSERT_TRUE(warm.ok());
  EXPECT_LE(warm->cost, cold->cost);
}

TEST(SolveTest, LongChainsAreExact) {
  Random random(11);
  Problem problem;
  for (int v = 0; v < 5000; ++v) {
    ProblemNode node;
    for (int a = 0; a < 10; ++a) node.costs.push_back(random.Below(1000));
    problem.nodes.push_back(node);
    if (v == 0) continue;
    CostTable table = {10, 10, {}};
    for (int i = 0; i < 100; ++i) table.cells.push_back(random.Below(1000));
    const int32_t other = random.Below(3) == 0 ? random.Below(v) : v - 1;
    problem.edges.push_back({other, v, problem.AddTable(table)});
  }
  const auto solution = Solve(problem, {});
  ASSERT_TRUE(solution.ok());
  EXPECT_TRUE(solution->proved_optimal);
  EXPECT_EQ(solution->core_nodes, 0);
}

TEST(SolveTest, SaysWhatALimitWouldHaveToBe) {
  Problem problem;
  problem.nodes = {
      {.costs = {1, 2}, .pieces = {{.first = 0, .last = 5, .usage = {7, 9}}}},
      {.costs = {1, 2}, .pieces = {{.first = 3, .last = 9, .usage = {6, 5}}}}};
  problem.limits = {{.limit = 11}};
  const auto solution = Solve(problem, {});
  EXPECT_EQ(solution.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(solution.status().message(),
            "usage limit 11 is too small: at time 3 every assignment uses at "
            "least 12");
}

TEST(SolveTest, RefusesWhatVerifyRefuses) {
  Problem problem;
  problem.nodes = {{.costs = {}}};
  EXPECT_EQ(Solve(problem, {}).status().message(), "node 0 has no options");
  problem.nodes = {{.costs = {1}}, {.costs = {1, 2}}};
  problem.AddTable({1, 1, {0}});
  problem.edges = {{0, 1, 0}};
  EXPECT_THAT(std::string(Solve(problem, {}).status().message()),
              testing::HasSubstr("edge 0 joins nodes of 1 and 2 options"));
}

}  // namespace
}  // namespace meshwright
