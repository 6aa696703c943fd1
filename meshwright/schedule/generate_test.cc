// Named schedules against their closed forms.
#include "meshwright/schedule/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "meshwright/schedule/simulate.h"
#include "meshwright/schedule/validate.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;

TEST(GenerateTest, KnownNumbers) {
  struct Case {
    ScheduleKind kind;
    int chunks;
    double step, with_transfers;
    std::vector<int64_t> peak;
  };
  const std::vector<Case> cases = {
      {ScheduleKind::kGPipe, 1, 45, 45.6, {12, 12, 12, 12}},
      {ScheduleKind::k1F1B, 1, 45, 47.2, {4, 3, 2, 1}},
      {ScheduleKind::kInterleaved, 2, 40.5, 41.9, {11, 9, 7, 5}},
      {ScheduleKind::kBreadthFirst, 2, 40.5, 41.1, {24, 24, 24, 24}},
      {ScheduleKind::kZeroBubble, 1, 39, 40.2, {4, 4, 4, 4}},
      {ScheduleKind::kZeroBubbleV, 2, 37.5, 38.8, {8, 8, 8, 8}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(ToString(c.kind));
    const int stages = 4 * c.chunks;
    const double part = 1.0 / c.chunks;
    const StageCost stage = {.forward = part,
                             .input_grad = part,
                             .weight_grad = part,
                             .held_bytes = 1};
    const auto table = MakeTimetable(
        {.stages = stages, .ranks = 4, .micro_batches = 12}, c.kind);
    ASSERT_TRUE(table.ok()) << table.status();
    const auto free = Simulate(*table, EvenCosts(stages, stage));
    ASSERT_TRUE(free.ok()) << free.status();
    EXPECT_NEAR(free->step_seconds, c.step, 1e-9);
    EXPECT_EQ(free->peak_bytes, c.peak);
    const auto moved = Simulate(*table, EvenCosts(stages, stage, 0.1));
    ASSERT_TRUE(moved.ok()) << moved.status();
    EXPECT_NEAR(moved->step_seconds, c.with_transfers, 1e-9);
  }
}

}  // namespace
}  // namespace meshwright
