// Timetables with one thing wrong.
#include "meshwright/schedule/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "meshwright/schedule/generate.h"
#include "meshwright/schedule/insert_transfers.h"
#include "meshwright/schedule/simulate.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

constexpr const char* kGood =
    "0F0,0F1,0B0,0B1\n"
    "1F0,1B0,1F1,1B1\n";

std::string Fault(const std::string& csv, int parked_sends = 1) {
  const auto table = ParseCsv(csv);
  EXPECT_TRUE(table.ok()) << table.status();
  const absl::Status status =
      Validate(*table, EvenCosts(table->stages(), {.held_bytes = 1}),
               {.parked_sends = parked_sends});
  EXPECT_EQ(status.message().find('\n'), std::string::npos);
  return std::string(status.message());
}

TEST(ValidateTest, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(Fault(kGood), "");
  EXPECT_EQ(Fault("0F0,0F1,0B0,0B1\n1B0,1F0,1F1,1B1\n"),
            "device 1, cell 1 (1B0): its forward, 1F0, comes later, in cell 2; "
            "row: =>1B0 1F0 1F1 1B1");
  EXPECT_EQ(Fault("0F0,0F1,0B0\n1F0,1B0,1F1,1B1\n"),
            "device 0 never runs 0B1: the backward of micro-batch 1 in stage "
            "0");
  EXPECT_EQ(Fault("0F0,0F1,0W0,0I0,0B1\n1F0,1B0,1F1,1B1\n"),
            "device 0, cell 3 (0W0): its input gradients, 0I0, comes later, in "
            "cell 4; row: 0F0 0F1 =>0W0 0I0 0B1");
  EXPECT_EQ(Fault("0F0,0F1,0I0,0B1\n1F0,1B0,1F1,1B1\n"),
            "device 0 never runs 0W0: the weight gradients of micro-batch 0 in "
            "stage 0");
  EXPECT_EQ(Fault("0F0,0F1,0B0,0B1,0B0\n1F0,1B0,1F1,1B1\n"),
            "device 0, cell 5 (0B0): done already in cell 3 (0B0); row: ... "
            "0F1 0B0 0B1 =>0B0");
  EXPECT_EQ(Fault("0F0,0F1,0B0,0B1,0A\n1F0,1B0,1F1,1B1\n"),
            "device 0, cell 5 (0A): gradients are applied after the timetable, "
            "not in it; row: ... 0F1 0B0 0B1 =>0A");
}

TEST(ValidateTest, FarTooFewActions) {
  EXPECT_EQ(Fault("0F0,0B1000000\n1F0,1B0\n"),
            "the timetable has 4 actions: too few for 2 stages and 1000001 "
            "micro-batches");
}

TEST(ValidateTest, Deadlock) {
  // Device 0 wants the gradients of 0 before it gives out 1, which device 1
  // wants first.
  EXPECT_EQ(Fault("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n"),
            "deadlock: device 0 waits in cell 2 (0B0) for 1B0, device 1 waits "
            "in cell 2 (1F1) for 0F1, which comes later on device 0");
}

TEST(ValidateTest, DeadlockOfBoundedBuffers) {
  // Both send twice before they receive.
  const std::string csv =
      "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
      "1RECV_F1,1F1,1RECV_F0,1F0,1B1,1SEND_B1,1B0,1SEND_B0\n";
  EXPECT_THAT(Fault(csv, 0), HasSubstr("deadlock: device 0 waits in cell 2"));
  EXPECT_EQ(Fault(csv, 1),
            "deadlock: device 0 waits in cell 4 (0SEND_F1) for 1RECV_F0, "
            "device 1 waits in cell 1 (1RECV_F1) for 0SEND_F1, which comes "
            "later on device 0");
  EXPECT_EQ(Fault(csv, 2), "");
}

TEST(ValidateTest, Transfers) {
  const std::string good =
      "0F0,0SEND_F0,0RECV_B0,0B0\n"
      "1RECV_F0,1F0,1B0,1SEND_B0\n";
  EXPECT_EQ(Fault(good), "");
  EXPECT_EQ(Fault("0SEND_F0,0F0,0RECV_B0,0B0\n"
                  "1RECV_F0,1F0,1B0,1SEND_B0\n"),
            "device 0, cell 1 (0SEND_F0): what it sends is made later, in cell "
            "2 (0F0); row: =>0SEND_F0 0F0 0RECV_B0 0B0");
  EXPECT_EQ(Fault("0F0,0SEND_F0,0RECV_B0,0B0\n"
                  "1F0,1RECV_F0,1B0,1SEND_B0\n"),
            "device 1, cell 2 (1RECV_F0): what needs it comes before, in cell "
            "1 (1F0); row: 1F0 =>1RECV_F0 1B0 1SEND_B0");
  EXPECT_EQ(Fault("0F0,0SEND_F0,0B0\n"
                  "1RECV_F0,1F0,1B0,1SEND_B0\n"),
            "device 0 never runs 0RECV_B0, but other transfers are listed");
  EXPECT_THAT(Fault("0F0,0SEND_F0,0RECV_B0,0B0,2F0,2B0,0SEND_F0>2\n"
                    "1RECV_F0,1F0,1B0,1SEND_B0,1SEND_F0,1RECV_B0\n"),
              HasSubstr("never runs 2RECV_F0"));
}

TEST(ValidateTest, Memory) {
  const auto table = MakeTimetable(
      {.stages = 2, .ranks = 2, .micro_batches = 4}, ScheduleKind::kGPipe);
  ASSERT_TRUE(table.ok());
  PipelineCosts costs = EvenCosts(2, {.held_bytes = 1024});
  costs.memory_bytes = {4096, 3072};
  EXPECT_EQ(Validate(*table, costs),
            absl::ResourceExhaustedError("device 1 holds 4.00 KiB at its peak, "
                                         "its memory is 3.00 KiB"));
  costs.memory_bytes = {4096, 4096};
  EXPECT_TRUE(Validate(*table, costs).ok());
}

// Dropping or doubling any action is noticed; exchanging two neighbours is
// noticed or harmless: what passes can be worked off in the given order.
TEST(ValidateTest, Mutations) {
  std::mt19937 random(1);
  int refused = 0;
  for (const ScheduleKind kind : kNamedSchedules) {
    const PipelineShape shape = {
        .stages =
            kind == ScheduleKind::kGPipe || kind == ScheduleKind::k1F1B ? 3 : 6,
        .ranks = 3,
        .micro_batches = 5};
    const auto plain = MakeTimetable(shape, kind);
    ASSERT_TRUE(plain.ok());
    const PipelineCosts costs = EvenCosts(shape.stages, {.forward = 1});
    const auto whole = InsertTransfers(*plain, costs);
    ASSERT_TRUE(whole.ok()) << whole.status();
    for (const Timetable& table : {*plain, *whole}) {
      for (int rank = 0; rank < table.ranks(); ++rank) {
        for (size_t cell = 0; cell < table.rows[rank].size(); ++cell) {
          const auto at = static_cast<std::ptrdiff_t>(cell);
          Timetable dropped = table;
          dropped.rows[rank].erase(dropped.rows[rank].begin() + at);
          EXPECT_FALSE(Validate(dropped, costs).ok());
          Timetable doubled = table;
          doubled.rows[rank].insert(doubled.rows[rank].begin() + at,
                                    table.rows[rank][cell]);
          EXPECT_FALSE(Validate(doubled, costs).ok());
          Timetable swapped = table;
          std::swap(swapped.rows[rank][cell],
                    swapped.rows[rank][random() % table.rows[rank].size()]);
          if (!Validate(swapped, costs).ok()) {
            ++refused;
          } else {
            EXPECT_TRUE(Simulate(swapped, costs).ok());
          }
        }
      }
    }
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace meshwright
