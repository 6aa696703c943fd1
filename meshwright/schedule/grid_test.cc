#include "meshwright/schedule/grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "meshwright/schedule/generate.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Draw(ScheduleKind kind, int ranks, int chunks, int micro_batches,
                 const GridOptions& options) {
  const int stages = ranks * chunks;
  const auto table = MakeTimetable(
      {.stages = stages, .ranks = ranks, .micro_batches = micro_batches}, kind);
  EXPECT_TRUE(table.ok()) << table.status();
  const auto run = Simulate(
      *table,
      EvenCosts(stages, {.forward = 1, .input_grad = 1, .weight_grad = 1}));
  EXPECT_TRUE(run.ok()) << run.status();
  return DrawGrid(*run, table->rank_of_stage, options);
}

TEST(GridTest, OneForwardOneBackward) {
  EXPECT_EQ(Draw(ScheduleKind::k1F1B, 2, 1, 3, {.columns = 38}),
            "  |0 s                |6.667 s\n"
            "0 F0 F1       B0--- F2 B1---    B2---\n"
            "1    F0 B0--- F1 B1--- F2 B2---\n");
}

TEST(GridTest, StagesOfADeviceHaveLetters) {
  EXPECT_THAT(Draw(ScheduleKind::kZeroBubbleV, 2, 2, 3, {.columns = 90}),
              HasSubstr("0 Fa0 Fa1 Fa2 Fb0 Ib0 Wb0 Fb1 Ib1 Wb1 "));
}

TEST(GridTest, LongOnesContinueBelowAndLeaveOutTheMiddle) {
  const std::string text =
      Draw(ScheduleKind::k1F1B, 2, 1, 100, {.columns = 80, .max_bands = 3});
  EXPECT_THAT(text, HasSubstr("F0-"));
  EXPECT_THAT(text, HasSubstr("\n  ... "));
  EXPECT_THAT(text, HasSubstr("B99"));
  EXPECT_THAT(text, Not(HasSubstr("F50")));
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  EXPECT_EQ(lines.size(), 3 * 3 + 1 + 1);
  for (const std::string& line : lines) EXPECT_LE(line.size(), 80u);
  EXPECT_THAT(
      Draw(ScheduleKind::k1F1B, 2, 1, 100, {.columns = 80, .max_bands = 99}),
      HasSubstr("F50"));
}

TEST(GridTest, Colours) {
  const std::string plain = Draw(ScheduleKind::k1F1B, 2, 1, 3, {});
  EXPECT_THAT(plain, Not(HasSubstr("\033")));
  const std::string coloured =
      Draw(ScheduleKind::k1F1B, 2, 1, 3, {.colour = true});
  EXPECT_THAT(coloured, HasSubstr("\033[48;5;153;38;5;16mF0"));
}

TEST(GridTest, NothingTakesTime) {
  const auto table = MakeTimetable(
      {.stages = 2, .ranks = 2, .micro_batches = 2}, ScheduleKind::kGPipe);
  ASSERT_TRUE(table.ok());
  const auto run = Simulate(*table, EvenCosts(2, {}));
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->bubble_share, 0);
  DrawGrid(*run, table->rank_of_stage);
}

}  // namespace
}  // namespace meshwright
