#include "meshwright/base/progress.h"

#include <string>

#include "gtest/gtest.h"
#include "meshwright/base/terminal.h"

namespace meshwright {
namespace {

TEST(ProgressTest, ShowsABarWhereTheTotalIsKnown) {
  EXPECT_EQ(ProgressText({.what = "training",
                          .done = 25,
                          .total = 100,
                          .note = "loss 2.31",
                          .seconds = 4.7},
                         80),
            "training [######..................] 25/100  4 s  loss 2.31");
  EXPECT_EQ(ProgressText({.what = "x", .done = 0, .total = 3}, 80),
            "x [........................] 0/3  0 s");
}

TEST(ProgressTest, ABarEndsAtItsTotal) {
  const std::string full =
      ProgressText({.what = "x", .done = 3, .total = 3}, 60);
  EXPECT_EQ(full, "x [########################] 3/3  0 s");
  EXPECT_EQ(ProgressText({.what = "x", .done = 4, .total = 3}, 60), full);
  EXPECT_EQ(ProgressText({.what = "x", .done = INT64_MAX, .total = 3}, 60),
            full);
}

TEST(ProgressTest, WithoutATotalOnlyTimeGoesOn) {
  for (const int64_t total : {0, -1}) {
    const std::string first = ProgressText(
        {.what = "planning", .done = 2, .total = total, .seconds = 75}, 80);
    const std::string next = ProgressText(
        {.what = "planning", .done = 9, .total = total, .seconds = 75.3}, 80);
    EXPECT_EQ(first, "planning | 1 min 15 s");
    EXPECT_EQ(next, "planning / 1 min 15 s");
  }
}

TEST(ProgressTest, IsNeverWiderThanTheTerminal) {
  for (int columns = 1; columns < 120; ++columns) {
    for (const int64_t total : {0, 7, 1'000'000'000}) {
      const std::string text = ProgressText({.what = "calibrating",
                                             .done = total / 2,
                                             .total = total,
                                             .note = "Matrizen 模型 Δ",
                                             .seconds = 4000},
                                            columns);
      EXPECT_LE(ColumnsOf(text), columns) << text;
    }
  }
  EXPECT_EQ(ProgressText({.what = "calibrating", .done = 3, .total = 7}, 37),
            "calibrating [######........] 3/7  0 s");
}

// Advanced far beyond what it knew, on whatever stderr is.
TEST(ProgressTest, MayBeAdvancedAsOftenAsOneLikes) {
  Progress unknown("planning");
  Progress none("planning", 0);
  Progress few("planning", 2);
  for (int i = 0; i < 100; ++i) {
    unknown.Advance("note");
    none.Advance();
    few.Advance("note");
  }
}

}  // namespace
}  // namespace meshwright
