#include "meshwright/hlo/round_float.h"

#include <bit>
#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "meshwright/hlo/literal.h"

namespace meshwright::internal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr ElementType kSmallTypes[] = {
    ElementType::kF16,        ElementType::kBF16,
    ElementType::kF8E5M2,     ElementType::kF8E4M3,
    ElementType::kF8E3M4,     ElementType::kF8E4M3FN,
    ElementType::kF8E4M3FNUZ, ElementType::kF8E4M3B11FNUZ,
    ElementType::kF8E5M2FNUZ, ElementType::kF8E8M0FNU,
    ElementType::kF6E3M2FN,   ElementType::kF6E2M3FN,
    ElementType::kF4E2M1FN,
};

TEST(RoundToBitsTest, EveryValueOfSmallTypesKeepsItsBits) {
  for (const ElementType type : kSmallTypes) {
    for (uint32_t bits = 0; bits < 1u << BitWidth(type); ++bits) {
      const double value =
          SmallFloatToDouble(type, static_cast<uint16_t>(bits));
      if (std::isnan(value)) continue;
      EXPECT_EQ(RoundToBits(type, value), bits) << Name(type);
    }
  }
}

TEST(RoundToBitsTest, TiesGoToEven) {
  // Between 1 and 1 + 2^-7, and between that and 1 + 2^-6.
  EXPECT_EQ(RoundToBits(ElementType::kBF16, 1 + 0x1p-8), 0x3f80);
  EXPECT_EQ(RoundToBits(ElementType::kBF16, 1 + 3 * 0x1p-8), 0x3f82);
  EXPECT_EQ(RoundToBits(ElementType::kBF16, 1.999), 0x4000);
  EXPECT_EQ(RoundToBits(ElementType::kF16, 0x1p-25), 0);
  EXPECT_EQ(RoundToBits(ElementType::kF16, 0x1.8p-25), 1);
}

TEST(RoundToBitsTest, LargerTypes) {
  EXPECT_EQ(RoundToBits(ElementType::kF32, 0.1), std::bit_cast<uint32_t>(0.1f));
  EXPECT_EQ(RoundToBits(ElementType::kF32, -1e-45),
            std::bit_cast<uint32_t>(-1e-45f));
  EXPECT_EQ(RoundToBits(ElementType::kF64, -0.1),
            std::bit_cast<uint64_t>(-0.1));
  EXPECT_EQ(RoundToBits(ElementType::kF32, -kInfinity), 0xff800000);
}

TEST(RoundToBitsTest, WhatDoesNotFit) {
  EXPECT_EQ(RoundToBits(ElementType::kF32, 1e39), std::nullopt);
  EXPECT_EQ(RoundToBits(ElementType::kF16, 65504), 0x7bff);
  EXPECT_EQ(RoundToBits(ElementType::kF16, 65520), std::nullopt);
  EXPECT_EQ(RoundToBits(ElementType::kF8E4M3FN, 448), 0x7e);
  EXPECT_EQ(RoundToBits(ElementType::kF8E4M3FN, 500), std::nullopt);
  EXPECT_EQ(RoundToBits(ElementType::kF8E4M3FN, kInfinity), std::nullopt);
  EXPECT_EQ(RoundToBits(ElementType::kF8E8M0FNU, 0), std::nullopt);
  EXPECT_EQ(RoundToBits(ElementType::kF8E8M0FNU, -1), std::nullopt);
  EXPECT_EQ(RoundToBits(ElementType::kF8E8M0FNU, 1e-300), std::nullopt);
  EXPECT_EQ(RoundToBits(ElementType::kF8E4M3FNUZ, -0.0), 0);
  EXPECT_EQ(RoundToBits(ElementType::kF8E4M3FNUZ, -1e-9), 0);
}

TEST(NanBitsTest, OfEachKind) {
  EXPECT_EQ(NanBits(ElementType::kF32, false, 0), 0x7fc00000);
  EXPECT_EQ(NanBits(ElementType::kF32, true, 1), 0xff800001);
  EXPECT_EQ(NanBits(ElementType::kF32, false, 1 << 23), std::nullopt);
  EXPECT_EQ(NanBits(ElementType::kF8E4M3FN, true, 0), 0xff);
  EXPECT_EQ(NanBits(ElementType::kF8E8M0FNU, false, 0), 0xff);
  EXPECT_EQ(NanBits(ElementType::kF8E4M3FNUZ, false, 0), 0x80);
  EXPECT_EQ(NanBits(ElementType::kF4E2M1FN, false, 0), std::nullopt);
}

}  // namespace
}  // namespace meshwright::internal
