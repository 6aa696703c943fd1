#include "meshwright/schedule/lower_bound.h"

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "meshwright/schedule/simulate.h"

namespace meshwright {
namespace {

using Row = std::vector<Action>;

// Every order of two micro-batches' actions on a stage.
std::vector<Row> OrdersOf(StageId stage) {
  constexpr ActionKind kKinds[] = {ActionKind::kForward, ActionKind::kInputGrad,
                                   ActionKind::kWeightGrad};
  std::vector<Row> orders;
  std::string which = "000111";  // Whose next action it is.
  do {
    int next[] = {0, 0};
    Row row;
    for (const char one : which) {
      const int micro_batch = one - '0';
      row.push_back({.stage = stage,
                     .kind = kKinds[next[micro_batch]++],
                     .micro_batch = micro_batch});
    }
    orders.push_back(std::move(row));
  } while (std::ranges::next_permutation(which).found);
  return orders;
}

PipelineCosts RandomCosts(std::mt19937& random) {
  std::uniform_real_distribution<double> part(0.1, 1.5);
  PipelineCosts costs;
  for (StageId stage{0}; stage < 2; ++stage) {
    costs.stages.push_back({.forward = part(random),
                            .input_grad = part(random),
                            .weight_grad = part(random),
                            .apply = random() % 3 == 0 ? 0 : 2 * part(random)});
  }
  costs.edges = ChainEdges(2, random() % 2 == 0 ? part(random) : 0);
  costs.apply_after_all = random() % 2 == 0;
  return costs;
}

// The fastest of all timetables of two stages and two micro-batches.
double Fastest(const PipelineCosts& costs) {
  double best = std::numeric_limits<double>::infinity();
  for (const Row& first : OrdersOf(StageId(0))) {
    for (const Row& last : OrdersOf(StageId(1))) {
      const auto run = Simulate(
          {.micro_batches = 2, .rank_of_stage = {0, 1}, .rows = {first, last}},
          costs);
      if (run.ok()) best = std::min(best, run->step_seconds);
    }
  }
  return best;
}

TEST(StepLowerBoundTest, NoTimetableTakesLess) {
  std::mt19937 random(5);
  int reached = 0;
  double apart = 0;
  constexpr int kTrials = 60;
  for (int trial = 0; trial < kTrials; ++trial) {
    SCOPED_TRACE(trial);
    const PipelineCosts costs = RandomCosts(random);
    const double best = Fastest(costs);
    const double bound = StepLowerBound({0, 1}, 2, 2, costs);
    EXPECT_LE(bound, best + 1e-9);
    if (bound > best - 1e-9) ++reached;
    apart += best / bound - 1;
  }
  EXPECT_GT(reached, kTrials / 2);
  EXPECT_LT(apart / kTrials, 0.03);
}

TEST(StepLowerBoundTest, CountsWhatEveryRankDoesAtTheEnd) {
  PipelineCosts costs;
  costs.stages = {{.forward = 1, .weight_grad = 1, .apply = 5},
                  {.forward = 1, .input_grad = 1, .apply = 2}};
  costs.edges = ChainEdges(2);
  // F0 F1 I1 W0, and what stage 0 applies.
  EXPECT_EQ(StepLowerBound({0, 1}, 2, 1, costs), 4 + 5);
  // What stage 1 applies waits for the gradient of stage 0.
  costs.stages[1].apply = 6;
  EXPECT_EQ(StepLowerBound({0, 1}, 2, 1, costs), 9);
  costs.apply_after_all = true;
  EXPECT_EQ(StepLowerBound({0, 1}, 2, 1, costs), 4 + 6);
}

}  // namespace
}  // namespace meshwright
