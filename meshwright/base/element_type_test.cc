#include "meshwright/base/element_type.h"

#include "gtest/gtest.h"

namespace meshwright {
namespace {

TEST(ElementTypeTest, EveryNameParsesBack) {
  for (int64_t number = 1; number <= 36; ++number) {
    const auto type = ElementTypeFromNumber(number);
    ASSERT_TRUE(type.has_value()) << number;
    EXPECT_EQ(static_cast<int64_t>(*type), number);
    EXPECT_EQ(ParseElementType(Name(*type)), type);
  }
}

TEST(ElementTypeTest, NumbersFromElsewhereAreRefused) {
  for (const int64_t number : {int64_t{-1}, int64_t{0}, int64_t{37},
                               int64_t{99}, INT64_MAX, INT64_MIN}) {
    EXPECT_FALSE(ElementTypeFromNumber(number).has_value()) << number;
  }
  EXPECT_FALSE(ParseElementType("f33").has_value());
  EXPECT_EQ(Name(static_cast<ElementType>(99)), "invalid");
  EXPECT_EQ(HostBytes(static_cast<ElementType>(99)), 0);
}

TEST(ElementTypeTest, WidthsAndKinds) {
  EXPECT_EQ(BitWidth(ElementType::kS4), 4);
  EXPECT_EQ(HostBytes(ElementType::kS4), 1);
  EXPECT_EQ(HostBytes(ElementType::kC128), 16);
  EXPECT_EQ(HostBytes(ElementType::kToken), 0);
  EXPECT_TRUE(IsFloating(ElementType::kBF16));
  EXPECT_TRUE(IsFloating(ElementType::kF8E4M3FN));
  EXPECT_FALSE(IsInteger(ElementType::kPred));
  EXPECT_TRUE(IsArrayType(ElementType::kPred));
  EXPECT_FALSE(IsArrayType(ElementType::kTuple));
}

}  // namespace
}  // namespace meshwright
