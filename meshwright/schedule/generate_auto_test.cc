// The generated timetable against the named ones.
#include "meshwright/schedule/generate_auto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "meshwright/schedule/generate.h"
#include "meshwright/schedule/simulate.h"
#include "meshwright/schedule/validate.h"

namespace meshwright {
namespace {

PipelineCosts RandomCosts(int stages, std::mt19937& random) {
  std::uniform_real_distribution<double> part(0.5, 1.5);
  PipelineCosts costs;
  for (StageId stage{0}; stage < stages; ++stage) {
    StageCost cost = {.forward = part(random),
                      .input_grad = part(random),
                      .weight_grad = part(random),
                      .held_bytes = 50 + static_cast<int>(random() % 100)};
    if (random() % 2 == 0) cost.kept_bytes = cost.held_bytes * 2 / 5;
    if (random() % 2 == 0) {
      cost.backward = 0.95 * (cost.input_grad + cost.weight_grad);
    }
    costs.stages.push_back(cost);
  }
  costs.edges = ChainEdges(stages, random() % 3 == 0 ? 0.1 * part(random) : 0);
  if (stages > 3 && random() % 3 == 0) {
    costs.edges.push_back({.from = StageId(0),
                           .to = StageId(stages - 2),
                           .forward_seconds = 0.1,
                           .backward_seconds = 0.2});
  }
  return costs;
}

PipelineShape RandomShape(std::mt19937& random) {
  const int ranks = 2 + static_cast<int>(random() % 5);
  PipelineShape shape;
  shape.ranks = ranks;
  shape.stages = ranks * (1 + static_cast<int>(random() % 2));
  if (random() % 4 == 0) ++shape.stages;
  shape.micro_batches = 1 + static_cast<int>(random() % (3 * ranks));
  return shape;
}

struct Best {
  double seconds = std::numeric_limits<double>::infinity();
  int64_t peak = 0;
};

Best BestNamed(const PipelineShape& shape, const PipelineCosts& costs) {
  Best best;
  for (const ScheduleKind kind : PossibleSchedules(shape)) {
    const auto table = MakeTimetable(shape, kind);
    EXPECT_TRUE(table.ok()) << table.status();
    const auto run = Simulate(*table, costs);
    EXPECT_TRUE(run.ok()) << run.status();
    const int64_t peak = std::ranges::max(run->peak_bytes);
    const bool fits =
        costs.memory_bytes.empty() || peak <= costs.memory_bytes[0];
    if (fits && run->step_seconds < best.seconds) {
      best = {run->step_seconds, peak};
    }
  }
  return best;
}

TEST(GenerateAutoTest, NeverWorseThanNamedOnes) {
  std::mt19937 random(7);
  int better = 0;
  double gap = 0;
  constexpr int kTrials = 50;
  for (int trial = 0; trial < kTrials; ++trial) {
    SCOPED_TRACE(trial);
    const PipelineShape shape = RandomShape(random);
    const PipelineCosts costs = RandomCosts(shape.stages, random);
    const auto made = MakeAutoTimetable(shape, costs, {.work_limit = 100'000});
    ASSERT_TRUE(made.ok()) << made.status();
    const auto run = Simulate(made->timetable, costs);
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_NEAR(run->step_seconds, made->step_seconds, 1e-9);
    const double named = BestNamed(shape, costs).seconds;
    EXPECT_LE(made->step_seconds, named + 1e-9);
    EXPECT_GE(made->step_seconds, made->lower_bound - 1e-9);
    if (made->step_seconds < named * 0.999) ++better;
    gap += made->step_seconds / made->lower_bound - 1;
  }
  EXPECT_GT(better, kTrials / 2);
  EXPECT_LT(gap / kTrials, 0.04);
}

TEST(GenerateAutoTest, StaysWithinMemory) {
  std::mt19937 random(11);
  int fitting = 0;
  for (int trial = 0; trial < 30; ++trial) {
    SCOPED_TRACE(trial);
    PipelineShape shape = RandomShape(random);
    PipelineCosts costs = RandomCosts(shape.stages, random);
    // Between what one micro-batch needs and what the fastest holds.
    const auto free = MakeAutoTimetable(shape, costs, {.work_limit = 100'000});
    ASSERT_TRUE(free.ok());
    const auto run = Simulate(free->timetable, costs);
    ASSERT_TRUE(run.ok());
    int64_t least = 0;
    for (const auto& stages :
         StagesByRank(free->timetable.rank_of_stage, shape.ranks)) {
      int64_t sum = 0;
      for (const StageId stage : stages) sum += costs.stages[stage].held_bytes;
      least = std::max(least, sum);
    }
    const int64_t most = std::ranges::max(run->peak_bytes);
    const int64_t limit = least + (most - least) * (trial % 4) / 4;
    costs.memory_bytes.assign(shape.ranks, limit);
    shape.rank_of_stage = free->timetable.rank_of_stage;
    const auto made = MakeAutoTimetable(shape, costs, {.work_limit = 100'000});
    ASSERT_TRUE(made.ok()) << made.status();
    const absl::Status valid = Validate(made->timetable, costs);
    EXPECT_TRUE(valid.ok()) << valid;
    EXPECT_LE(made->step_seconds, BestNamed(shape, costs).seconds + 1e-9);
    if (BestNamed(shape, costs).peak == 0) ++fitting;
  }
  // There were bounds that no named schedule keeps.
  EXPECT_GT(fitting, 5);
}

TEST(GenerateAutoTest, EqualDurationsReachTheBound) {
  // m (f + b) + (p - 1) f / v: nothing that ends together can be faster.
  for (int ranks = 2; ranks <= 8; ranks *= 2) {
    const PipelineShape shape = {
        .stages = ranks, .ranks = ranks, .micro_batches = 3 * ranks};
    const PipelineCosts costs = EvenCosts(
        ranks,
        {.forward = 1, .input_grad = 1, .weight_grad = 1, .held_bytes = 1});
    const auto made = MakeAutoTimetable(shape, costs, {.work_limit = 200'000});
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_NEAR(made->step_seconds, 9 * ranks + ranks - 1, 1e-9);
    EXPECT_LE(std::ranges::max(PeakHeldBytes(made->timetable, costs)), ranks);
    EXPECT_NEAR(made->lower_bound, made->step_seconds, 1e-9);
  }
}

TEST(GenerateAutoTest, TheSameEachTime) {
  std::mt19937 random(3);
  const PipelineShape shape = {.stages = 8, .ranks = 4, .micro_batches = 9};
  const PipelineCosts costs = RandomCosts(8, random);
  const auto first = MakeAutoTimetable(shape, costs, {.work_limit = 100'000});
  const auto second = MakeAutoTimetable(shape, costs, {.work_limit = 100'000});
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->timetable, second->timetable);
}

TEST(GenerateAutoTest, WithoutSplitBackward) {
  std::mt19937 random(5);
  const PipelineShape shape = {.stages = 8, .ranks = 4, .micro_batches = 9};
  const auto made =
      MakeAutoTimetable(shape, RandomCosts(8, random),
                        {.split_backward = false, .work_limit = 100'000});
  ASSERT_TRUE(made.ok()) << made.status();
  for (const std::vector<Action>& row : made->timetable.rows) {
    for (const Action& action : row) {
      EXPECT_NE(action.kind, ActionKind::kInputGrad);
    }
  }
}

TEST(GenerateAutoTest, SaysWhatIsNeeded) {
  const PipelineShape shape = {.stages = 4, .ranks = 2, .micro_batches = 3};
  PipelineCosts costs = EvenCosts(
      4, {.forward = 1, .input_grad = 1, .weight_grad = 1, .held_bytes = 1024});
  costs.memory_bytes = {4096, 2000};
  EXPECT_EQ(MakeAutoTimetable(shape, costs).status(),
            absl::ResourceExhaustedError(
                "device 1 holds 2.00 KiB for one micro-batch in its stages, "
                "its memory is 1.95 KiB"));
}

}  // namespace
}  // namespace meshwright
