// Named schedules against their closed forms.
#include "meshwright/schedule/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

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

struct Times {
  double forward = 1, input_grad = 1, weight_grad = 1;
};

// Simulates a schedule whose ranks take `times` for their whole share.
Simulation Play(ScheduleKind kind, int ranks, int chunks, int micro_batches,
                const Times& times = {}) {
  const int stages = ranks * chunks;
  const auto table = MakeTimetable(
      {.stages = stages, .ranks = ranks, .micro_batches = micro_batches}, kind);
  EXPECT_TRUE(table.ok()) << table.status();
  const auto run = Simulate(
      *table, EvenCosts(stages, {.forward = times.forward / chunks,
                                 .input_grad = times.input_grad / chunks,
                                 .weight_grad = times.weight_grad / chunks,
                                 .held_bytes = 1}));
  EXPECT_TRUE(run.ok()) << run.status();
  return run.ok() ? *run : Simulation{};
}

// Compares many p and m with `idle(p, m)` and `peak(p, m, d)`, where these have
// a formula (not nullopt, not negative).
void ForShapes(ScheduleKind kind, int chunks, bool whole_rounds,
               const Times& times, auto&& idle, auto&& peak) {
  for (int p = 1; p <= 9; ++p) {
    for (int m = 1; m <= 27; ++m) {
      if (whole_rounds && m % p != 0) continue;
      SCOPED_TRACE(
          absl::StrCat(ToString(kind), " p=", p, " m=", m, " v=", chunks));
      const Simulation run = Play(kind, p, chunks, m, times);
      const double work =
          m * (times.forward + times.input_grad + times.weight_grad);
      if (const auto want = idle(p, m); want.has_value()) {
        EXPECT_NEAR(run.step_seconds - work, *want, 1e-9);
        EXPECT_NEAR(run.bubble_share, *want / run.step_seconds, 1e-9);
      }
      for (int d = 0; d < p; ++d) {
        const int most = peak(p, m, d);
        if (most < 0) continue;
        EXPECT_EQ(run.peak_bytes[d], most) << "device " << d;
      }
    }
  }
}

using Idle = std::optional<double>;

TEST(GenerateTest, GPipe) {
  const Times times = {1, 1.25, 0.75};
  ForShapes(
      ScheduleKind::kGPipe, 1, false, times,
      [](int p, int) { return Idle((p - 1) * 3.0); },
      [](int, int m, int) { return m; });
}

TEST(GenerateTest, OneForwardOneBackward) {
  const Times times = {1, 1.25, 0.75};
  ForShapes(
      ScheduleKind::k1F1B, 1, false, times,
      [](int p, int) { return Idle((p - 1) * 3.0); },
      [](int p, int m, int d) { return std::min(m, p - d); });
}

TEST(GenerateTest, Interleaved) {
  const Times times = {1, 1.25, 0.75};
  for (const int v : {2, 3, 4}) {
    ForShapes(
        ScheduleKind::kInterleaved, v, true, times,
        [&](int p, int) { return Idle((p - 1) * 3.0 / v); },
        [&](int p, int m, int d) {
          return std::min(m * v, 2 * (p - 1 - d) + (v - 1) * p + 1);
        });
  }
}

TEST(GenerateTest, BreadthFirst) {
  const Times times = {1, 1.25, 0.75};
  for (const int v : {2, 3}) {
    ForShapes(
        ScheduleKind::kBreadthFirst, v, false, times,
        [&](int p, int m) { return m < p ? Idle() : (p - 1) * 3.0 / v; },
        [&](int, int m, int) { return m * v; });
  }
}

TEST(GenerateTest, ZeroBubble) {
  for (const Times& times : {Times{1, 1, 1}, Times{1, 1.25, 0.75}}) {
    ForShapes(
        ScheduleKind::kZeroBubble, 1, false, times,
        [&](int p, int m) {
          return m < 2 * p - 1 ? Idle()
                               : (p - 1) * (times.forward + times.input_grad -
                                            times.weight_grad);
        },
        [](int p, int m, int) { return std::min(m, p); });
  }
}

TEST(GenerateTest, ZeroBubbleV) {
  ForShapes(
      ScheduleKind::kZeroBubbleV, 2, false, {},
      [](int p, int m) { return m < 2 * p ? Idle() : (p - 1) * 0.5; },
      [](int p, int m, int) { return m < 2 * p - 1 ? -1 : 2 * p; });
}

// Stages and micro-batches that are no multiples of the ranks.
TEST(GenerateTest, AnyShapeIsValid) {
  for (int p = 1; p <= 6; ++p) {
    for (int stages = p; stages <= 4 * p; ++stages) {
      for (const int m : {1, 2, 3, 5, 8, 13}) {
        const PipelineShape shape = {
            .stages = stages, .ranks = p, .micro_batches = m};
        for (const ScheduleKind kind : PossibleSchedules(shape)) {
          const auto table = MakeTimetable(shape, kind);
          ASSERT_TRUE(table.ok()) << table.status();
          const absl::Status valid = Validate(*table, EvenCosts(stages, {}));
          EXPECT_TRUE(valid.ok()) << ToString(kind) << " " << valid;
        }
      }
    }
  }
}

TEST(GenerateTest, SaysWhatCannotBeMade) {
  const auto fault = [](int stages, int ranks, ScheduleKind kind,
                        std::vector<int> rank_of_stage = {},
                        int micro_batches = 1) {
    PipelineShape shape = {
        .stages = stages, .ranks = ranks, .micro_batches = micro_batches};
    shape.rank_of_stage = std::move(rank_of_stage);
    const absl::Status status = MakeTimetable(shape, kind).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(
      fault(8, 4, ScheduleKind::k1F1B),
      "1f1b has one stage per device, not 8 on 4; interleaved has several");
  EXPECT_EQ(fault(6, 2, ScheduleKind::kZeroBubbleV),
            "zero-bubble-v has two stages per device, not 6 on 2");
  EXPECT_EQ(fault(2, 4, ScheduleKind::kGPipe),
            "2 stages on 4 devices leave a device without a stage");
  EXPECT_EQ(fault(4, 2, ScheduleKind::kInterleaved, {0, 1, 1, 0}),
            "interleaved needs stage 2 on device 0, but it is on 1");
  EXPECT_EQ(fault(2, 2, ScheduleKind::kGPipe, {}, 0),
            "a pipeline has at least one stage, device and micro-batch, not "
            "2, 2 and 0");
  EXPECT_EQ(fault(2, 2, ScheduleKind::kGPipe, {0, 0}),
            "no stage is on device 1");
  EXPECT_EQ(fault(2, 2, ScheduleKind::kGPipe, {0, 2}),
            "stage 1 is on device 2 of 2");
  EXPECT_EQ(fault(2, 2, ScheduleKind::kAuto), "schedule auto needs durations");
}

TEST(GenerateTest, ForwardsFirstOnAnyPlacement) {
  const PipelineShape shape = {.stages = 4,
                               .ranks = 2,
                               .micro_batches = 3,
                               .rank_of_stage = {0, 1, 1, 0}};
  EXPECT_THAT(PossibleSchedules(shape),
              ElementsAre(ScheduleKind::kGPipe, ScheduleKind::kBreadthFirst,
                          ScheduleKind::kZeroBubbleV));
}

}  // namespace
}  // namespace meshwright
