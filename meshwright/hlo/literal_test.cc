#include "meshwright/hlo/literal.h"

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/print_literal.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

template <typename T>
Literal MakeLiteral(ElementType type, std::vector<int64_t> dimensions,
                    const std::vector<T>& values) {
  Literal literal;
  literal.shape = Shape::Array(type, std::move(dimensions));
  literal.data.assign(reinterpret_cast<const char*>(values.data()),
                      values.size() * sizeof(T));
  return literal;
}

std::string Text(const Literal& literal, bool large_constants = true) {
  std::string text;
  internal::AppendLiteral(literal, large_constants, &text);
  return text;
}

template <typename T>
std::string ScalarText(ElementType type, T value) {
  return Text(MakeLiteral<T>(type, {}, {value}));
}

struct FloatCase {
  ElementType type;
  int bits;
  double want;
};

class SmallFloatTest : public testing::TestWithParam<FloatCase> {};

TEST_P(SmallFloatTest, HasTheValueOfItsBits) {
  const auto& [type, bits, want] = GetParam();
  const double value = SmallFloatToDouble(type, static_cast<uint16_t>(bits));
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(value)) << value;
  } else {
    EXPECT_EQ(value, want);
    EXPECT_EQ(std::signbit(value), std::signbit(want));
  }
}

const double kNan = std::numeric_limits<double>::quiet_NaN();
using E = ElementType;

INSTANTIATE_TEST_SUITE_P(Table, SmallFloatTest,
                         testing::ValuesIn<FloatCase>({
                             {E::kF16, 0x3c00, 1},
                             {E::kF16, 0x8000, -0.0},
                             {E::kF16, 0x0001, std::ldexp(1, -24)},
                             {E::kF16, 0x7bff, 65504},
                             {E::kF16, 0xfc00, -kInf},
                             {E::kF16, 0x7c01, kNan},
                             {E::kBF16, 0x4049, 3.140625},
                             {E::kBF16, 0x7f80, kInf},
                             {E::kBF16, 0x0001, std::ldexp(1, -133)},
                             {E::kF8E5M2, 0x7b, 57344},
                             {E::kF8E5M2, 0x7c, kInf},
                             {E::kF8E5M2, 0x7f, kNan},
                             {E::kF8E4M3, 0x77, 240},
                             {E::kF8E4M3, 0xf8, -kInf},
                             {E::kF8E3M4, 0x6f, 15.5},
                             {E::kF8E3M4, 0x70, kInf},
                             {E::kF8E4M3FN, 0x7e, 448},
                             {E::kF8E4M3FN, 0x7f, kNan},
                             {E::kF8E4M3FN, 0xff, kNan},
                             {E::kF8E4M3FNUZ, 0x80, kNan},
                             {E::kF8E4M3FNUZ, 0x7f, 240},
                             {E::kF8E4M3B11FNUZ, 0x7f, 30},
                             {E::kF8E4M3B11FNUZ, 0x80, kNan},
                             {E::kF8E5M2FNUZ, 0x7f, 57344},
                             {E::kF8E5M2FNUZ, 0x01, std::ldexp(1, -17)},
                             {E::kF8E8M0FNU, 0x7f, 1},
                             {E::kF8E8M0FNU, 0x00, std::ldexp(1, -127)},
                             {E::kF8E8M0FNU, 0xff, kNan},
                             {E::kF6E3M2FN, 0x1f, 28},
                             {E::kF6E3M2FN, 0x21, -0.0625},
                             {E::kF6E2M3FN, 0x1f, 7.5},
                             {E::kF4E2M1FN, 0x7, 6},
                             {E::kF4E2M1FN, 0x9, -0.5},
                         }));

TEST(LiteralTest, ScalarsOfEachKind) {
  EXPECT_EQ(Literal::Scalar(2.5f).ElementAsDouble(0), 2.5);
  EXPECT_EQ(Literal::Scalar(-7).ElementAsInteger(0), -7);
  EXPECT_EQ(Literal::Scalar(true).ElementAsInteger(0), 1);
  EXPECT_EQ(Literal::Scalar(true).shape.element_type, ElementType::kPred);
  EXPECT_TRUE(Literal::Scalar(1.0f).shape.layout.has_value());
}

TEST(LiteralTest, IntegersKeepTheirSign) {
  const std::vector<uint8_t> nibbles = {0x0f, 0x08, 0x07, 0xf8};
  const Literal s4 = MakeLiteral(ElementType::kS4, {4}, nibbles);
  const Literal u4 = MakeLiteral(ElementType::kU4, {4}, nibbles);
  EXPECT_EQ(Text(s4), "{-1, -8, 7, -8}");
  EXPECT_EQ(Text(u4), "{15, 8, 7, 8}");
  EXPECT_EQ(s4.ElementAsDouble(1), -8);
  const Literal u64 = MakeLiteral<uint64_t>(ElementType::kU64, {}, {~0ull});
  EXPECT_EQ(u64.ElementAsDouble(0), 18446744073709551616.0);
  EXPECT_EQ(Text(u64), "18446744073709551615");
}

TEST(LiteralTest, ReadsPastTheEndAreZero) {
  const Literal literal = MakeLiteral<float>(ElementType::kF32, {8}, {5, 6});
  EXPECT_EQ(literal.ElementAsDouble(1), 6);
  for (const int64_t index : {int64_t{2}, int64_t{-1}, int64_t{1} << 62}) {
    EXPECT_EQ(literal.ElementAsDouble(index), 0) << index;
    EXPECT_EQ(literal.ElementAsInteger(index), 0) << index;
  }
}

struct TextCase {
  float value;
  std::string want;
};

class FloatTextTest : public testing::TestWithParam<TextCase> {};

TEST_P(FloatTextTest, IsShortAndExact) {
  EXPECT_EQ(ScalarText(ElementType::kF32, GetParam().value), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Table, FloatTextTest,
                         testing::ValuesIn<TextCase>({
                             {0, "0"},
                             {-0.0f, "-0.0"},
                             {1, "1"},
                             {0.1f, "0.1"},
                             {-1.5f, "-1.5"},
                             {1e20f, "1e+20"},
                             {16777216, "16777216"},
                             {1e-45f, "1e-45"},
                             {3.4028235e38f, "3.4028235e+38"},
                             {INFINITY, "inf"},
                             {-INFINITY, "-inf"},
                             {NAN, "nan"},
                             {-NAN, "-nan"},
                             {std::bit_cast<float>(0x7fc00001),
                              "nan(0x400001)"},
                         }));

TEST(LiteralTextTest, LongWholeNumbersAreNotIntegers) {
  EXPECT_EQ(ScalarText(ElementType::kF64, 1e18), "1e+18");
  EXPECT_EQ(ScalarText(ElementType::kF64, 1234567890123456789012.0),
            "1.2345678901234568e+21");
  EXPECT_EQ(ScalarText(ElementType::kF64, 123456789012345680000.0),
            "1.2345678901234568e+20");
}

TEST(LiteralTextTest, SmallFloatsTakeFewDigits) {
  EXPECT_EQ(ScalarText<uint16_t>(ElementType::kBF16, 0x3dcd), "0.1001");
  EXPECT_EQ(ScalarText<uint16_t>(ElementType::kF16, 0x2e66), "0.099976");
  EXPECT_EQ(ScalarText<uint8_t>(ElementType::kF8E4M3FN, 0x80), "-0.0");
  EXPECT_EQ(ScalarText<uint8_t>(ElementType::kF8E5M2, 0x7d), "nan(0x1)");
  EXPECT_EQ(ScalarText<uint8_t>(ElementType::kF8E4M3FN, 0xff), "-nan");
}

TEST(LiteralTextTest, ArraysNestInLogicalOrder) {
  Literal literal =
      MakeLiteral<int32_t>(ElementType::kS32, {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(Text(literal), "{{1, 2, 3}, {4, 5, 6}}");
  literal.shape.layout.emplace().minor_to_major = {0, 1};
  EXPECT_EQ(Text(literal), "{{1, 3, 5}, {2, 4, 6}}");
}

TEST(LiteralTextTest, ComplexPredAndTuple) {
  EXPECT_EQ(Text(MakeLiteral<float>(ElementType::kC64, {2}, {1, -2, 0.5, 0})),
            "{(1, -2), (0.5, 0)}");
  Literal tuple;
  tuple.shape = Shape::Tuple({Shape::Scalar(ElementType::kPred)});
  tuple.tuple = {Literal::Scalar(true), Literal::Scalar(3)};
  EXPECT_EQ(Text(tuple), "(true, 3)");
}

TEST(LiteralTextTest, EmptyArraysKeepTheirRows) {
  EXPECT_EQ(Text(MakeLiteral<float>(ElementType::kF32, {0}, {})), "{}");
  EXPECT_EQ(Text(MakeLiteral<float>(ElementType::kF32, {2, 0}, {})),
            "{{}, {}}");
  EXPECT_EQ(Text(MakeLiteral<float>(ElementType::kF32, {0, 9}, {})), "{}");
}

TEST(LiteralTextTest, LargeConstantsAreElidedOnRequest) {
  const Literal ten =
      MakeLiteral<uint8_t>(ElementType::kU8, {10}, std::vector<uint8_t>(10));
  const Literal eleven =
      MakeLiteral<uint8_t>(ElementType::kU8, {11}, std::vector<uint8_t>(11));
  EXPECT_THAT(Text(ten, /*large_constants=*/false), HasSubstr("0, 0"));
  EXPECT_EQ(Text(eleven, /*large_constants=*/false), "{...}");
}

TEST(LiteralTextTest, BadLiteralsStayShort) {
  const int64_t huge = int64_t{1} << 40;
  const auto elided = [](std::vector<int64_t> dimensions) {
    return Text(MakeLiteral<float>(ElementType::kF32, dimensions, {1})) ==
           "{...}";
  };
  EXPECT_TRUE(elided({2}));
  EXPECT_TRUE(elided({-1}));
  EXPECT_TRUE(elided({huge, huge, 16}));
  EXPECT_TRUE(elided({huge, 0}));
  EXPECT_TRUE(elided(std::vector<int64_t>(100000, 1)));
  EXPECT_EQ(Text(MakeLiteral<float>(ElementType::kF32, {0, huge, huge}, {})),
            "{}");
  EXPECT_EQ(Text(MakeLiteral<float>(ElementType::kC64, {}, {})), "(0, 0)");
  EXPECT_EQ(Text(MakeLiteral<float>(ElementType::kPred, {}, {})), "false");
  EXPECT_EQ(Text(Literal()), "{...}");
}

TEST(LiteralTextTest, BadLayoutsAreElided) {
  Literal literal = MakeLiteral<float>(ElementType::kF32, {1, 2}, {1, 2});
  const std::vector<std::vector<int64_t>> orders = {{},     {0},     {0, 0},
                                                    {1, 2}, {-1, 0}, {0, 1, 2}};
  for (const std::vector<int64_t>& order : orders) {
    literal.shape.layout.emplace().minor_to_major = order;
    EXPECT_EQ(Text(literal), "{...}");
  }
}

}  // namespace
}  // namespace meshwright
