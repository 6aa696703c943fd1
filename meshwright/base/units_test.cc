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

}  // namespace
}  // namespace meshwright
