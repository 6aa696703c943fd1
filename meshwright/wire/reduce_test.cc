#include "meshwright/wire/reduce.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "meshwright/base/element_type.h"
#include "meshwright/wire/float8.h"
#include "meshwright/wire/half_floats.h"
#include "meshwright/wire/wires_for_test.h"

namespace meshwright {
namespace {

template <typename T>
T Reduced(ReduceOp op, ElementType type, T a, T b) {
  // Longer than a block, and no multiple of one.
  std::vector<T> into(2001, a);
  const std::vector<T> from(into.size(), b);
  EXPECT_EQ(ReduceInto(op, type, Bytes(from), WritableBytes(into)),
            absl::OkStatus());
  // All alike; as bytes, for NaNs.
  EXPECT_EQ(Bytes(into), Bytes(std::vector<T>(into.size(), into[0])));
  return into[0];
}

TEST(ReduceTest, CombinesIntegers) {
  using enum ReduceOp;
  EXPECT_EQ(Reduced<int32_t>(kSum, ElementType::kS32, 3, -5), -2);
  EXPECT_EQ(Reduced<int32_t>(kProduct, ElementType::kS32, 3, -5), -15);
  EXPECT_EQ(Reduced<int32_t>(kMax, ElementType::kS32, 3, -5), 3);
  EXPECT_EQ(Reduced<int32_t>(kMin, ElementType::kS32, 3, -5), -5);
  EXPECT_EQ(Reduced<int32_t>(kAnd, ElementType::kS32, 6, 3), 2);
  EXPECT_EQ(Reduced<int32_t>(kOr, ElementType::kS32, 6, 3), 7);
  EXPECT_EQ(Reduced<uint8_t>(kMax, ElementType::kU8, 200, 100), 200);
  EXPECT_EQ(Reduced<int8_t>(kMax, ElementType::kS8, -56, 100), 100);
}

TEST(ReduceTest, IntegersWrap) {
  using enum ReduceOp;
  EXPECT_EQ(Reduced<int8_t>(kSum, ElementType::kS8, 127, 1), -128);
  EXPECT_EQ(Reduced<uint16_t>(kProduct, ElementType::kU16, 65535, 65535), 1);
  EXPECT_EQ(Reduced<int32_t>(kSum, ElementType::kS32, INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(Reduced<int64_t>(kSum, ElementType::kS64, INT64_MAX, 1), INT64_MIN);
}

TEST(ReduceTest, PredsAreZeroOrOne) {
  using enum ReduceOp;
  for (const ReduceOp op : {kSum, kMax, kOr}) {
    EXPECT_EQ(Reduced<uint8_t>(op, ElementType::kPred, 1, 1), 1);
    EXPECT_EQ(Reduced<uint8_t>(op, ElementType::kPred, 1, 0), 1);
  }
  for (const ReduceOp op : {kProduct, kMin, kAnd}) {
    EXPECT_EQ(Reduced<uint8_t>(op, ElementType::kPred, 1, 1), 1);
    EXPECT_EQ(Reduced<uint8_t>(op, ElementType::kPred, 1, 0), 0);
  }
}

TEST(ReduceTest, ANanWins) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const ReduceOp op : {ReduceOp::kMax, ReduceOp::kMin}) {
    EXPECT_TRUE(std::isnan(Reduced(op, ElementType::kF32, nan, 1.0f)));
    EXPECT_TRUE(std::isnan(Reduced(op, ElementType::kF32, 1.0f, nan)));
  }
}

TEST(ReduceTest, CombinesComplexNumbers) {
  // (1 + 2i) (3 + 4i) = -5 + 10i.
  std::vector<float> into = {1, 2};
  const std::vector<float> from = {3, 4};
  ASSERT_EQ(ReduceInto(ReduceOp::kProduct, ElementType::kC64, Bytes(from),
                       WritableBytes(into)),
            absl::OkStatus());
  EXPECT_EQ(into, (std::vector<float>{-5, 10}));
  std::vector<double> sum = {1, 2};
  const std::vector<double> more = {3, 4};
  ASSERT_EQ(ReduceInto(ReduceOp::kSum, ElementType::kC128, Bytes(more),
                       WritableBytes(sum)),
            absl::OkStatus());
  EXPECT_EQ(sum, (std::vector<double>{4, 6}));
}

TEST(ReduceTest, SmallFloatsAreAddedAsFloats) {
  const uint16_t one = internal::ToBf16(1.0f);
  const uint16_t tiny = internal::ToBf16(0x1p-9f);
  // Three times rounded alone it would stay 1.
  std::vector<uint16_t> into(1);
  const std::byte* const sources[] = {
      reinterpret_cast<const std::byte*>(&one),
      reinterpret_cast<const std::byte*>(&tiny),
      reinterpret_cast<const std::byte*>(&tiny),
      reinterpret_cast<const std::byte*>(&tiny)};
  ReduceAll(ReduceOp::kSum, ElementType::kBF16, sources, WritableBytes(into));
  EXPECT_EQ(internal::FromBf16(into[0]), 1.0078125f);
  EXPECT_EQ(
      Reduced<uint16_t>(ReduceOp::kSum, ElementType::kF16, 0x3c00, 0x3c00),
      0x4000);
  EXPECT_EQ(
      Reduced<uint8_t>(ReduceOp::kSum, ElementType::kF8E4M3FN, 0x38, 0x38),
      0x40);
  EXPECT_EQ(Reduced<uint8_t>(ReduceOp::kMax, ElementType::kF8E5M2, 0x3c, 0xbc),
            0x3c);
}

// Every value of f16 comes back, and what lies between goes to the even one.
TEST(ReduceTest, F16RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const float value = internal::FromF16(static_cast<uint16_t>(bits));
    ASSERT_EQ(internal::ToF16(value), bits);
    ASSERT_EQ(internal::ToF16(-value), bits | 0x8000);
    const float next = bits == 0x7bff
                           ? 65536.0f
                           : internal::FromF16(static_cast<uint16_t>(bits + 1));
    const float middle = (value + next) / 2;
    ASSERT_EQ(internal::ToF16(middle), (bits + 1) & ~1u);
    ASSERT_EQ(internal::ToF16(std::nextafter(middle, 0.0f)), bits);
    ASSERT_EQ(internal::ToF16(std::nextafter(middle, 1e9f)), bits + 1);
  }
  EXPECT_EQ(internal::FromF16(1), 0x1p-24f);
  EXPECT_EQ(internal::FromF16(0x7bff), 65504.0f);
  EXPECT_TRUE(std::isinf(internal::FromF16(0x7c00)));
  EXPECT_TRUE(std::isnan(internal::FromF16(0x7e00)));
  EXPECT_EQ(internal::ToF16(1e9f), 0x7c00);
  EXPECT_EQ(internal::ToF16(std::nanf("")), 0x7e00);
}

TEST(ReduceTest, Bf16RoundsToNearestEven) {
  EXPECT_EQ(internal::ToBf16(1.0f), 0x3f80);
  EXPECT_EQ(internal::ToBf16(1.00390625f), 0x3f80);  // A tie, to the even one.
  EXPECT_EQ(internal::ToBf16(1.01171875f), 0x3f82);
  EXPECT_EQ(internal::ToBf16(3.4e38f), 0x7f80);
  EXPECT_TRUE(std::isnan(internal::FromBf16(
      internal::ToBf16(std::numeric_limits<float>::signaling_NaN()))));
}

struct Float8Case {
  ElementType type;
  uint8_t largest;
  float largest_value;
  float smallest_value;
  bool has_infinity;
};

class Float8Test : public testing::TestWithParam<Float8Case> {};

TEST_P(Float8Test, ValuesComeBackAndRoundToNearestEven) {
  const auto& [type, largest, largest_value, smallest_value, has_infinity] =
      GetParam();
  const internal::Float8& kind = *internal::Float8Of(type);
  EXPECT_EQ(kind.Decode(largest), largest_value);
  EXPECT_EQ(kind.Decode(1), smallest_value);
  for (int bits = 0; bits < largest; ++bits) {
    const float value = kind.Decode(static_cast<uint8_t>(bits));
    const float next = kind.Decode(static_cast<uint8_t>(bits + 1));
    ASSERT_LT(value, next);
    ASSERT_EQ(kind.Encode(value), bits);
    const float middle = (value + next) / 2;
    ASSERT_EQ(kind.Encode(middle), (bits + 1) & ~1);
    ASSERT_EQ(kind.Encode(std::nextafter(middle, 0.0f)), bits);
    ASSERT_EQ(kind.Encode(std::nextafter(middle, 1e9f)), bits + 1);
    if (bits > 0) {
      ASSERT_EQ(kind.Encode(-value), bits | 0x80);
    }
  }
  const float beyond = kind.Decode(kind.Encode(4 * largest_value));
  EXPECT_EQ(std::isinf(beyond), has_infinity);
  EXPECT_EQ(std::isnan(beyond), !has_infinity);
  EXPECT_TRUE(std::isnan(kind.Decode(kind.Encode(std::nanf("")))));
  EXPECT_EQ(kind.Decode(kind.Encode(-0.0f)), 0.0f);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Float8Test,
    testing::ValuesIn<Float8Case>({
        {ElementType::kF8E5M2, 0x7b, 57344, 0x1p-16f, true},
        {ElementType::kF8E4M3, 0x77, 240, 0x1p-9f, true},
        {ElementType::kF8E3M4, 0x6f, 15.5, 0x1p-6f, true},
        {ElementType::kF8E4M3FN, 0x7e, 448, 0x1p-9f, false},
        {ElementType::kF8E5M2FNUZ, 0x7f, 57344, 0x1p-17f, false},
        {ElementType::kF8E4M3FNUZ, 0x7f, 240, 0x1p-10f, false},
        {ElementType::kF8E4M3B11FNUZ, 0x7f, 30, 0x1p-13f, false},
    }),
    [](const auto& test) { return std::string(Name(test.param.type)); });

TEST(ReduceTest, RefusesWhatHasNoMeaning) {
  using enum ReduceOp;
  EXPECT_EQ(CheckReduces(kAnd, ElementType::kF32).message(),
            "workers cannot combine f32 by and");
  EXPECT_FALSE(CheckReduces(kMax, ElementType::kC64).ok());
  EXPECT_FALSE(CheckReduces(kSum, ElementType::kS4).ok());
  EXPECT_FALSE(CheckReduces(kSum, ElementType::kF8E8M0FNU).ok());
  EXPECT_FALSE(CheckReduces(kSum, ElementType::kToken).ok());
  std::vector<std::byte> bytes(6);
  EXPECT_FALSE(
      ReduceInto(kSum, ElementType::kF32, bytes, absl::MakeSpan(bytes)).ok());
}

}  // namespace
}  // namespace meshwright
