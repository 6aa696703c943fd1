#include "meshwright/schedule/timetable.h"

#include <gtest/gtest.h>

#include "meshwright/schedule/generate.h"
#include "meshwright/schedule/insert_transfers.h"

namespace meshwright {
namespace {

TEST(TimetableTest, CsvAndBack) {
  for (const ScheduleKind kind : kNamedSchedules) {
    const bool v = kind == ScheduleKind::kZeroBubbleV;
    const PipelineShape shape = {
        .stages = v ? 6 : 3, .ranks = 3, .micro_batches = 5};
    const auto table = MakeTimetable(shape, kind);
    ASSERT_TRUE(table.ok()) << table.status();
    const auto whole = InsertTransfers(*table, EvenCosts(shape.stages, {}));
    ASSERT_TRUE(whole.ok()) << whole.status();
    for (const std::string& text : {ToCsv(*table), ToAlignedCsv(*table)}) {
      const auto parsed = ParseCsv(text);
      ASSERT_TRUE(parsed.ok()) << parsed.status();
      EXPECT_EQ(*parsed, *table);
    }
    const auto parsed = ParseCsv(ToCsv(*whole));
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, *whole);
    EXPECT_EQ(WithoutTransfers(*whole), *table);
  }
}

TEST(TimetableTest, EmptyCellsAreBubbles) {
  const auto table = MakeTimetable(
      {.stages = 2, .ranks = 2, .micro_batches = 2}, ScheduleKind::k1F1B);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(ToAlignedCsv(*table),
            "0F0,0F1,,0B0,,0B1\n"
            ",1F0,1B0,1F1,1B1\n");
}

TEST(TimetableTest, CsvMistakes) {
  const auto fault = [](const char* text) {
    return std::string(ParseCsv(text).status().message());
  };
  EXPECT_EQ(fault(""), "the timetable is empty");
  EXPECT_EQ(fault("0F0,0B0\n0F1"),
            "device 1, cell 1 (0F1): stage 0 is on device 0 too");
  EXPECT_EQ(fault("0F0,,2B0"), "the timetable has stage 2 but no stage 1");
  EXPECT_EQ(fault("0F0,0Q1").substr(0, 32),
            "device 0, cell 2: \"0Q1\" is no ac");
  EXPECT_EQ(fault("99999999F0").substr(0, 35),
            "device 0, cell 1 (99999999F0): stag");
}

TEST(TimetableTest, NeighboursBecomeOneBackward) {
  const auto table = ParseCsv("0F0,0F1,0I0,0W0,0I1,1F0\n");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(ToCsv(MergeBackwards(*table)), "0F0,0F1,0B0,0I1,1F0\n");
}

}  // namespace
}  // namespace meshwright
