#include "meshwright/base/units.h"

#include "gtest/gtest.h"

namespace meshwright {
namespace {

TEST(UnitsTest, BytesKeepThreeDigits) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1536), "1.50 KiB");
  EXPECT_EQ(FormatBytes(int64_t{15} << 20), "15.0 MiB");
  EXPECT_EQ(FormatBytes(int64_t{150} << 30), "150 GiB");
  EXPECT_EQ(FormatBytes(INT64_MAX), "8.00 EiB");
}

TEST(UnitsTest, CountsAreExactBelowAThousand) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1.3e9), "1.30 G");
  EXPECT_EQ(FormatCount(2.5e21), "2500 E");
}

TEST(UnitsTest, SecondsChooseTheirUnit) {
  EXPECT_EQ(FormatSeconds(12.34), "12.3 s");
  EXPECT_EQ(FormatSeconds(0.0123), "12.3 ms");
  EXPECT_EQ(FormatSeconds(4.5e-6), "4.50 us");
}

TEST(UnitsTest, WhatIsPrintedAddsUp) {
  EXPECT_EQ(
      FormatSum(0.0148, {{"compute", 0.01374}, {"communication", 0.00106}}),
      "14.8 ms = compute 13.7 ms + communication 1.1 ms");
  // 1.2, 1.2 and 1.2 would be 3.6.
  EXPECT_EQ(
      FormatSum(36.9e-3, {{"a", 12.34e-3}, {"b", 12.34e-3}, {"c", 12.22e-3}}),
      "36.9 ms = a 12.4 ms + b 12.3 ms + c 12.2 ms");
  EXPECT_EQ(FormatSum(2, {{"a", 2}, {"b", 0}}), "2.00 s = a 2.00 s");
  EXPECT_EQ(FormatSum(2, {}), "2.00 s");
}

TEST(UnitsTest, SumsThatAreWrongAreNotMadeToFit) {
  EXPECT_EQ(FormatSum(2, {{"a", 1}, {"b", 0.5}}),
            "2.00 s = a 1.00 s + b 0.50 s");
}

TEST(UnitsTest, TimesSayWhatIsEachAndWhatIsAll) {
  EXPECT_EQ(FormatTimes(7, 196406), "7 x 27.4 KiB = 192 KiB");
  EXPECT_EQ(FormatTimes(1, 2048), "2.00 KiB");
}

TEST(UnitsTest, OneIsNotSeveral) {
  EXPECT_EQ(Counted(1, "tensor"), "1 tensor");
  EXPECT_EQ(Counted(0, "tensor"), "0 tensors");
  EXPECT_EQ(Counted(2, "micro-batch"), "2 micro-batches");
}

}  // namespace
}  // namespace meshwright
