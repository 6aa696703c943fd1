#include "meshwright/schedule/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "meshwright/schedule/generate.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Simulation Play(const std::string& csv, const PipelineCosts& costs) {
  const auto table = ParseCsv(csv);
  EXPECT_TRUE(table.ok()) << table.status();
  const auto run = Simulate(*table, costs);
  EXPECT_TRUE(run.ok()) << run.status();
  return run.ok() ? *run : Simulation{};
}

std::string StartTimes(const Simulation& run, int rank) {
  std::string text;
  for (const TimedAction& timed : run.rows[rank]) {
    absl::StrAppend(&text, text.empty() ? "" : " ", ToString(timed.action), "@",
                    timed.begin);
  }
  return text;
}

TEST(SimulateTest, WaitsForValues) {
  const Simulation run = Play(
      "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n",
      EvenCosts(2, {.forward = 1, .input_grad = 1, .weight_grad = 1}, 0.25));
  EXPECT_EQ(StartTimes(run, 0), "0F0@0 0F1@1 0B0@4.5 0B1@7.5");
  EXPECT_EQ(StartTimes(run, 1), "1F0@1.25 1B0@2.25 1F1@4.25 1B1@5.25");
  EXPECT_DOUBLE_EQ(run.step_seconds, 9.5);
  EXPECT_THAT(run.busy_seconds, ElementsAre(6, 6));
  EXPECT_NEAR(run.bubble_share, 7.0 / 19, 1e-12);
}

TEST(SimulateTest, TransfersShareALink) {
  PipelineCosts costs = EvenCosts(2, {.forward = 1, .backward = 1}, 2);
  const Simulation run = Play("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n", costs);
  EXPECT_EQ(StartTimes(run, 1), "1F0@3 1F1@5 1B0@6 1B1@7");
  ASSERT_EQ(run.transfers.size(), 4u);
  EXPECT_DOUBLE_EQ(run.transfers[1].begin, 3);  // Behind the first.
  EXPECT_DOUBLE_EQ(run.transfers[2].end, 9);
  EXPECT_DOUBLE_EQ(run.transfers[3].begin, 9);
}

TEST(SimulateTest, SkipsAreWaitedFor) {
  PipelineCosts costs = EvenCosts(3, {.forward = 1, .backward = 1});
  costs.edges.push_back({.from = StageId(0),
                         .to = StageId(2),
                         .forward_seconds = 5,
                         .backward_seconds = 7});
  const Simulation run = Play("0F0,0B0\n1F0,1B0\n2F0,2B0\n", costs);
  EXPECT_EQ(StartTimes(run, 2), "2F0@6 2B0@7");
  EXPECT_EQ(StartTimes(run, 0), "0F0@0 0B0@15");
  // Without the chain, stages 0 and 1 run side by side.
  costs.edges = {{.from = StageId(0), .to = StageId(2)},
                 {.from = StageId(1), .to = StageId(2)}};
  EXPECT_EQ(StartTimes(Play("0F0,0B0\n1F0,1B0\n2F0,2B0\n", costs), 1),
            "1F0@0 1B0@3");
}

TEST(SimulateTest, LateReceivesDelay) {
  const PipelineCosts costs = EvenCosts(2, {.forward = 1, .backward = 1}, 0.5);
  const std::string zero =
      "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n";
  const Simulation early = Play(
      zero + "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n", costs);
  EXPECT_EQ(StartTimes(early, 1), "1F0@1.5 1B0@2.5 1F1@3.5 1B1@4.5");
  const Simulation late = Play(
      zero + "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n", costs);
  EXPECT_EQ(StartTimes(late, 1), "1F0@1.5 1B0@2.5 1F1@4 1B1@5");
}

TEST(SimulateTest, MemoryOverTime) {
  PipelineCosts costs = EvenCosts(1, {.forward = 1,
                                      .input_grad = 1,
                                      .weight_grad = 1,
                                      .held_bytes = 10,
                                      .kept_bytes = 4});
  const Simulation run = Play("0F0,0F1,0I0,0I1,0W0,0W1\n", costs);
  std::vector<std::pair<double, int64_t>> points;
  for (const MemoryPoint& point : run.memory[0]) {
    points.emplace_back(point.seconds, point.bytes);
  }
  using P = std::pair<double, int64_t>;
  EXPECT_THAT(points, ElementsAre(P{0, 10}, P{1, 20}, P{3, 14}, P{4, 8},
                                  P{5, 4}, P{6, 0}));
  EXPECT_THAT(run.peak_bytes, ElementsAre(20));
}

// What is rematerialised takes memory from I to W, within B as well.
TEST(SimulateTest, BackwardMayTakeMoreThanIsHeld) {
  PipelineCosts costs = EvenCosts(1, {.forward = 1,
                                      .input_grad = 1,
                                      .weight_grad = 1,
                                      .held_bytes = 2,
                                      .kept_bytes = 7});
  for (const char* csv : {"0F0,0F1,0I0,0W0,0I1,0W1\n", "0F0,0F1,0B0,0B1\n"}) {
    const Simulation run = Play(csv, costs);
    EXPECT_THAT(run.peak_bytes, ElementsAre(2 + 7)) << csv;
    EXPECT_EQ(run.memory[0].back().bytes, 0) << csv;
  }
}

TEST(SimulateTest, ValuesOnTheirWayTakeMemory) {
  PipelineCosts costs = EvenCosts(2, {.forward = 1, .backward = 1}, 1);
  costs.edges[0].forward_bytes = 3;
  // Device 0 holds the second value while it is sent; device 1 both.
  const Simulation run = Play("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n", costs);
  EXPECT_THAT(run.peak_bytes, ElementsAre(3, 3));
  for (const auto& points : run.memory) EXPECT_EQ(points.back().bytes, 0);
}

TEST(SimulateTest, ApplyAtTheEnd) {
  PipelineCosts costs = EvenCosts(2, {.forward = 1, .backward = 1, .apply = 5});
  const std::string csv = "0F0,0B0\n1F0,1B0\n";
  const Simulation run = Play(csv, costs);
  EXPECT_EQ(StartTimes(run, 0), "0F0@0 0B0@3 0A@4");
  EXPECT_EQ(StartTimes(run, 1), "1F0@1 1B0@2 1A@3");
  EXPECT_DOUBLE_EQ(run.step_seconds, 9);
  costs.apply_after_all = true;
  EXPECT_EQ(StartTimes(Play(csv, costs), 1), "1F0@1 1B0@2 1A@4");
}

TEST(SimulateTest, RefusesWhatCannotRun) {
  const auto table = ParseCsv("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n");
  ASSERT_TRUE(table.ok());
  const auto fault = [&](const PipelineCosts& costs) {
    return std::string(Simulate(*table, costs).status().message());
  };
  EXPECT_THAT(fault(EvenCosts(2, {})), HasSubstr("deadlock"));
  EXPECT_EQ(fault(EvenCosts(3, {})),
            "costs of 3 stages are given, but there are 2");
  EXPECT_EQ(fault(EvenCosts(2, {.forward = -1})),
            "stage 0: a duration is negative or no number");
  PipelineCosts costs = EvenCosts(2, {});
  costs.edges[0] = {.from = StageId(1), .to = StageId(0)};
  EXPECT_EQ(fault(costs),
            "values flow from stage 1 to 0: must be an earlier and a later one "
            "of 2");
  costs.edges = {{.from = StageId(0), .to = StageId(1)},
                 {.from = StageId(0), .to = StageId(1)}};
  EXPECT_EQ(fault(costs), "what flows from stage 0 to 1 is given twice");
}

}  // namespace
}  // namespace meshwright
