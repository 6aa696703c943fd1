#include "meshwright/hlo/affine_index.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/hlo/verify.h"

namespace meshwright {
namespace {

using ::testing::Eq;

// Of `v` in a computation that begins with an iota of eight.
std::optional<AffineIndex> Of(const std::string& lines,
                              std::optional<FixedPosition> fixed = {}) {
  const std::string text = absl::StrCat(
      "HloModule m\nENTRY main {\n  p = s32[8] parameter(0)\n",
      "  i = s32[8] iota(), iota_dimension=0\n", "  zero = s32[] constant(0)\n",
      "  two = s32[] constant(2)\n",
      "  twos = s32[8] broadcast(two), dimensions={}\n", lines, "\n}");
  const absl::StatusOr<Module> module = ReadModuleText(text);
  EXPECT_TRUE(module.ok()) << module.status() << text;
  EXPECT_TRUE(Verify(*module).ok()) << Verify(*module);
  return AffineIndexOf(*module->entry()->root(), fixed);
}

AffineIndex Index(int64_t offset, std::vector<int64_t> strides) {
  return {offset, std::move(strides)};
}

TEST(AffineIndexTest, OfWhatIsMovedAndRepeated) {
  EXPECT_EQ(Of("  ROOT v = s32[8,3] broadcast(i), dimensions={0}"),
            Index(0, {1, 0}));
  EXPECT_EQ(Of("  ROOT v = s32[2,1,4] reshape(i)"), Index(0, {4, 0, 1}));
  EXPECT_EQ(Of("  a = s32[2,4] reshape(i)\n"
               "  ROOT v = s32[8] reshape(a)"),
            Index(0, {1}));
  EXPECT_EQ(Of("  a = s32[2,4] reshape(i)\n"
               "  ROOT v = s32[4,2] transpose(a), dimensions={1,0}"),
            Index(0, {1, 4}));
  EXPECT_EQ(Of("  ROOT v = s32[8] reverse(i), dimensions={0}"), Index(7, {-1}));
  EXPECT_EQ(Of("  ROOT v = s32[3] slice(i), slice={[1:7:2]}"), Index(1, {2}));
  // Not in equal steps.
  EXPECT_EQ(Of("  a = s32[2,8] broadcast(i), dimensions={1}\n"
               "  ROOT v = s32[16] reshape(a)"),
            std::nullopt);
}

TEST(AffineIndexTest, OfArithmetic) {
  EXPECT_EQ(Of("  a = s32[8] multiply(twos, i)\n"
               "  ROOT v = s32[8] add(a, twos)"),
            Index(2, {2}));
  EXPECT_EQ(Of("  ROOT v = s32[8] subtract(i, i)"), Index(0, {0}));
  EXPECT_EQ(Of("  ROOT v = s32[8] multiply(i, i)"), std::nullopt);
  EXPECT_EQ(Of("  ROOT v = s32[8] add(i, p)"), std::nullopt);
  EXPECT_EQ(Of("  ROOT v = s32[8] divide(i, twos)"), std::nullopt);
  // Which of four pairs, and which of a pair.
  EXPECT_EQ(Of("  a = s32[4,2] reshape(i)\n  b = s32[4,2] broadcast(two), "
               "dimensions={}\n  ROOT v = s32[4,2] divide(a, b)"),
            Index(0, {1, 0}));
  EXPECT_EQ(Of("  a = s32[4,2] reshape(i)\n  b = s32[4,2] broadcast(two), "
               "dimensions={}\n  ROOT v = s32[4,2] remainder(a, b)"),
            Index(0, {0, 1}));
}

TEST(AffineIndexTest, OfWhatChangesNothing) {
  const std::string wrap = R"(
  zeros = s32[8] broadcast(zero), dimensions={}
  is_less = pred[8] compare(i, zeros), direction=LT
  sum = s32[8] add(p, twos)
  ROOT v = s32[8] select(is_less, sum, i))";
  EXPECT_EQ(Of(wrap), Index(0, {1}));
  EXPECT_EQ(Of("  seven = s32[] constant(7)\n"
               "  ROOT v = s32[8] clamp(zero, i, seven)"),
            Index(0, {1}));
  EXPECT_EQ(Of("  six = s32[] constant(6)\n"
               "  ROOT v = s32[8] clamp(zero, i, six)"),
            std::nullopt);
  EXPECT_EQ(Of("  ROOT v = s32[8] maximum(i, twos)"), std::nullopt);
}

TEST(AffineIndexTest, OfOneComponent) {
  const std::string both =
      "  a = s32[8,1] reshape(i)\n  b = s32[8,1] reshape(p)\n"
      "  ROOT v = s32[8,2] concatenate(b, a), dimensions={1}";
  EXPECT_EQ(Of(both), std::nullopt);
  EXPECT_EQ(Of(both, FixedPosition{1, 0}), std::nullopt);
  EXPECT_EQ(Of(both, FixedPosition{1, 1}), Index(0, {1, 0}));
  // Through reshapes that leave the components as they are.
  const std::string pair =
      "  a = s32[1,8,1] reshape(i)\n  b = s32[1,8,1] reshape(p)\n"
      "  c = s32[1,8,2] concatenate(b, a), dimensions={2}\n"
      "  ROOT v = s32[8,2] reshape(c)";
  EXPECT_EQ(Of(pair, FixedPosition{1, 0}), std::nullopt);
  EXPECT_EQ(Of(pair, FixedPosition{1, 1}), Index(0, {1, 0}));
  const std::string chosen =
      "  less = pred[] compare(zero, two), direction=LT\n"
      "  a = s32[8,1] reshape(i)\n  b = s32[8,1] reshape(p)\n"
      "  c = s32[8,2] concatenate(b, a), dimensions={1}\n"
      "  ROOT v = s32[8,2] select(less, c, c)";
  EXPECT_EQ(Of(chosen, FixedPosition{1, 1}), Index(0, {1, 0}));
  const std::string constant =
      "  ROOT v = s32[3,2] constant({{5, 1}, {2, 3}, {9, 5}})";
  EXPECT_EQ(Of(constant, FixedPosition{1, 0}), std::nullopt);
  EXPECT_EQ(Of(constant, FixedPosition{1, 1}), Index(1, {2, 0}));
}

TEST(AffineIndexTest, NotOfWhatOverflowsOrIsFarAway) {
  EXPECT_EQ(Of("  ROOT v = s8[8] convert(i)"), Index(0, {1}));
  EXPECT_EQ(Of("  a = s32[300] iota(), iota_dimension=0\n"
               "  ROOT v = s8[300] convert(a)"),
            std::nullopt);
  EXPECT_EQ(Of("  ROOT v = u64[2] constant({0, 18446744073709551615})"),
            std::nullopt);
  std::string chain = "  v0 = s32[8] copy(i)\n";
  for (int i = 1; i < 100; ++i) {
    absl::StrAppend(&chain, "  v", i, " = s32[8] add(v", i - 1, ", v", i - 1,
                    ")\n");
  }
  EXPECT_EQ(Of(chain + "  ROOT v = s32[8] negate(v99)"), std::nullopt);
}

TEST(AffineIndexTest, AnIotaIsItsOwnPositionAlongOneDimension) {
  EXPECT_THAT(IotaDimension(Index(0, {0, 1, 0})), Eq(1));
  EXPECT_THAT(IotaDimension(Index(1, {0, 1})), Eq(std::nullopt));
  EXPECT_THAT(IotaDimension(Index(0, {2})), Eq(std::nullopt));
  EXPECT_THAT(IotaDimension(Index(0, {-1})), Eq(std::nullopt));
  EXPECT_THAT(IotaDimension(Index(0, {4, 1})), Eq(std::nullopt));
  EXPECT_THAT(IotaDimension(Index(0, {0})), Eq(std::nullopt));
}

}  // namespace
}  // namespace meshwright
