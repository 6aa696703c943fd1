#include "meshwright/runtime/staged_costs.h"

#include "gtest/gtest.h"

namespace meshwright {
namespace {

// All of a step's work counts, also what ran while others idled.
TEST(MeasuredCostsTest, AreMeans) {
  StagedStep step;
  step.stages = 1;
  Simulation executed;
  executed.rows.resize(1);
  double now = 0;
  const auto ran = [&](ActionKind kind, int micro_batch, double seconds) {
    executed.rows[0].push_back(
        {{.stage = StageId(0), .kind = kind, .micro_batch = micro_batch},
         now,
         now + seconds});
    now += seconds;
  };
  ran(ActionKind::kForward, 0, 1);
  ran(ActionKind::kForward, 1, 4);
  ran(ActionKind::kForward, 2, 4);
  ran(ActionKind::kBackward, 0, 6);
  ran(ActionKind::kApply, 0, 1);
  ran(ActionKind::kApply, 0, 2);
  const PipelineCosts costs = MeasuredCosts(step, executed);
  ASSERT_EQ(costs.stages.size(), 1u);
  EXPECT_DOUBLE_EQ(costs.stages[0].forward, 3);
  EXPECT_DOUBLE_EQ(costs.stages[0].BackwardSeconds(), 6);
  EXPECT_DOUBLE_EQ(costs.stages[0].apply, 3);  // Both rounds.
}

}  // namespace
}  // namespace meshwright
