#include "meshwright/schedule/insert_transfers.h"

#include <gtest/gtest.h>

#include "meshwright/schedule/generate.h"
#include "meshwright/schedule/simulate.h"
#include "meshwright/schedule/validate.h"

namespace meshwright {
namespace {

TEST(InsertTransfersTest, SendsFollowReceivesPrecede) {
  const auto table = MakeTimetable(
      {.stages = 2, .ranks = 2, .micro_batches = 2}, ScheduleKind::k1F1B);
  ASSERT_TRUE(table.ok());
  const auto whole = InsertTransfers(
      *table, EvenCosts(2, {.forward = 1, .input_grad = 1, .weight_grad = 1}));
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(ToCsv(*whole),
            "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
            "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n");
}

// With skips, uneven times and several stages per rank: valid even when sends
// wait for their receives, and as fast as transfers that start by themselves.
TEST(InsertTransfersTest, CostsNoTime) {
  for (const ScheduleKind kind : kNamedSchedules) {
    for (const double seconds : {0.0, 0.1, 0.4}) {
      const bool one = kind == ScheduleKind::k1F1B;
      const PipelineShape shape = {
          .stages = one ? 4 : 8, .ranks = 4, .micro_batches = 6};
      PipelineCosts costs = EvenCosts(shape.stages, {}, seconds);
      for (StageId stage{0}; stage < shape.stages; ++stage) {
        costs.stages[stage] = {.forward = 1 + 0.1 * stage,
                               .input_grad = stage == 0 ? 0 : 0.9,
                               .weight_grad = 0.8};
      }
      costs.edges.push_back(
          {.from = StageId(0), .to = StageId(3), .forward_seconds = 0.2});
      costs.edges.push_back({.from = StageId(1),
                             .to = StageId(shape.stages - 1),
                             .backward_seconds = seconds});
      const auto table = MakeTimetable(shape, kind);
      ASSERT_TRUE(table.ok()) << table.status();
      const auto whole = InsertTransfers(*table, costs);
      ASSERT_TRUE(whole.ok()) << whole.status();
      const absl::Status valid = Validate(*whole, costs, {.parked_sends = 0});
      EXPECT_TRUE(valid.ok()) << valid;
      const auto plain_run = Simulate(*table, costs);
      const auto whole_run = Simulate(*whole, costs);
      ASSERT_TRUE(plain_run.ok() && whole_run.ok());
      EXPECT_NEAR(plain_run->step_seconds, whole_run->step_seconds, 1e-6);
      EXPECT_EQ(plain_run->transfers.size(), whole_run->transfers.size());
      EXPECT_EQ(*InsertTransfers(*whole, costs), *whole);
    }
  }
}

TEST(InsertTransfersTest, OneRankHandsOver) {
  const auto table =
      MakeTimetable({.stages = 4, .ranks = 2, .micro_batches = 3},
                    ScheduleKind::kZeroBubbleV);
  ASSERT_TRUE(table.ok());
  const auto whole = InsertTransfers(*table, EvenCosts(4, {}));
  ASSERT_TRUE(whole.ok()) << whole.status();
  for (const std::vector<Action>& row : whole->rows) {
    for (const Action& action : row) {
      if (!IsTransfer(action.kind)) continue;
      EXPECT_NE(int{action.stage} + int{action.peer}, 3) << ToString(action);
    }
  }
}

}  // namespace
}  // namespace meshwright
