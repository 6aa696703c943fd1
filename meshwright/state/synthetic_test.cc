#include "meshwright/state/synthetic.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/hlo/literal.h"
#include "meshwright/state/values_for_test.h"

namespace meshwright {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Le;
using ::testing::Lt;

std::vector<double> MadeUp(ElementType type, std::vector<int64_t> dimensions,
                           const SyntheticOptions& options = {}) {
  const Tensor tensor =
      MakeSynthetic(Shape::Array(type, std::move(dimensions)), "x", 7, options);
  EXPECT_EQ(std::ssize(tensor.data),
            CheckedBytes(tensor.dimensions, HostBytes(type)).value());
  return ValuesOf(tensor);
}

TEST(SyntheticTest, TheSameEverywhere) {
  // Written down once; other machines must agree to the bit.
  const std::vector<double> values = MadeUp(ElementType::kF64, {3});
  EXPECT_THAT(values, ElementsAre(-0x1.6bc3b6d3388dcp-7, -0x1.3be0d8b44fa38p-8,
                                  -0x1.088cc86f27f86p-6));
  EXPECT_THAT(MadeUp(ElementType::kS32, {4}, {.bound = 1000}),
              ElementsAre(222, 379, 96, 645));
}

TEST(SyntheticTest, SeedAndNameMatter) {
  const Shape shape = Shape::Array(ElementType::kF32, {100});
  const Tensor a = MakeSynthetic(shape, "a", 0);
  EXPECT_EQ(MakeSynthetic(shape, "a", 0), a);
  EXPECT_NE(MakeSynthetic(shape, "a", 1).data, a.data);
  EXPECT_NE(MakeSynthetic(shape, "b", 0).data, a.data);
}

TEST(SyntheticTest, FloatsAreSmallAndCentred) {
  for (ElementType type :
       {ElementType::kF64, ElementType::kF32, ElementType::kF16,
        ElementType::kBF16, ElementType::kC64, ElementType::kC128,
        ElementType::kF8E4M3FN, ElementType::kF8E5M2, ElementType::kF8E4M3,
        ElementType::kF8E3M4, ElementType::kF8E4M3FNUZ,
        ElementType::kF8E5M2FNUZ, ElementType::kF8E4M3B11FNUZ}) {
    const std::vector<double> values = MadeUp(type, {100, 100});
    EXPECT_THAT(values, Each(AllOf(Ge(-0.0201), Le(0.0201)))) << Name(type);
    const double mean =
        std::accumulate(values.begin(), values.end(), 0.0) / 1e4;
    EXPECT_LT(std::abs(mean), 0.0005) << Name(type);
    EXPECT_GT(*std::max_element(values.begin(), values.end()), 0.015)
        << Name(type);
  }
}

TEST(SyntheticTest, TinyFloatsAreFinite) {
  for (ElementType type : {ElementType::kF4E2M1FN, ElementType::kF6E2M3FN,
                           ElementType::kF6E3M2FN, ElementType::kF8E8M0FNU}) {
    for (double value : MadeUp(type, {100})) {
      EXPECT_TRUE(std::isfinite(value)) << Name(type);
    }
  }
}

TEST(SyntheticTest, NonNegativeFloatsAndScalarsAreAwayFromZero) {
  for (ElementType type : {ElementType::kF32, ElementType::kBF16}) {
    EXPECT_THAT(MadeUp(type, {1000}, {.non_negative = true}),
                Each(AllOf(Ge(0.0099), Le(0.0201))));
    EXPECT_THAT(MadeUp(type, {}), Each(AllOf(Ge(0.0099), Le(0.0201))));
  }
}

TEST(SyntheticTest, BoundedIntegersFillTheirRange) {
  for (ElementType type :
       {ElementType::kS8, ElementType::kU8, ElementType::kS16,
        ElementType::kU16, ElementType::kS32, ElementType::kU32,
        ElementType::kS64, ElementType::kU64}) {
    const std::vector<double> values = MadeUp(type, {1000}, {.bound = 11});
    const std::set<double> seen(values.begin(), values.end());
    EXPECT_EQ(seen.size(), 11) << Name(type);
    EXPECT_THAT(seen, Each(AllOf(Ge(0), Lt(11))));
  }
}

TEST(SyntheticTest, BoundsAreCutToTheType) {
  EXPECT_THAT(MadeUp(ElementType::kS8, {1000}, {.bound = 50257}), Each(Ge(0)));
  EXPECT_THAT(MadeUp(ElementType::kS4, {1000}, {.bound = 50257}),
              Each(AllOf(Ge(0), Le(7))));
  EXPECT_THAT(MadeUp(ElementType::kU2, {1000}, {.bound = 50257}),
              Each(AllOf(Ge(0), Le(3))));
  EXPECT_THAT(MadeUp(ElementType::kS32, {9}, {.bound = 0}), Each(0));
}

TEST(SyntheticTest, OtherIntegers) {
  EXPECT_THAT(MadeUp(ElementType::kS32, {}), ElementsAre(0));
  EXPECT_THAT(MadeUp(ElementType::kS32, {100}), Each(AllOf(Ge(0), Le(1))));
  EXPECT_THAT(MadeUp(ElementType::kPred, {100}), Each(AllOf(Ge(0), Le(1))));
  const std::vector<double> key = MadeUp(ElementType::kU32, {2});
  EXPECT_GT(key[0] + key[1], 1000);
  EXPECT_THAT(MadeUp(ElementType::kU32, {0, 4}), ElementsAre());
}

TEST(SyntheticTest, ScaleIsThatOfFloats) {
  const Shape shape = Shape::Array(ElementType::kF32, {1000});
  const Tensor small = MakeSynthetic(shape, "x", 1);
  const Tensor large = MakeSynthetic(shape, "x", 1, {.scale = 2});
  float most = 0;
  for (size_t i = 0; i < 1000; ++i) {
    float a = 0;
    float b = 0;
    std::memcpy(&a, small.data.data() + i * sizeof(a), sizeof(a));
    std::memcpy(&b, large.data.data() + i * sizeof(b), sizeof(b));
    EXPECT_NEAR(b, 100 * a, 1e-4);
    most = std::max(most, std::abs(b));
  }
  EXPECT_GT(most, 1.9f);
  EXPECT_LE(most, 2.0f);
}

}  // namespace
}  // namespace meshwright
