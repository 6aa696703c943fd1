#include "meshwright/state/nudge.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

Tensor FloatTensor(const std::vector<float>& values) {
  Tensor tensor{.name = "x", .type = ElementType::kF32};
  tensor.dimensions = {std::ssize(values)};
  tensor.data.assign(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(float));
  return tensor;
}

std::vector<float> FloatsOf(const Tensor& tensor) {
  const Literal literal = AsLiteral(tensor);
  return {literal.Values<float>().begin(), literal.Values<float>().end()};
}

TEST(NudgeTest, MovesToNeighbours) {
  Tensor tensor = FloatTensor(std::vector<float>(1000, -1.5f));
  Nudge(1, tensor);
  int above = 0;
  int below = 0;
  for (const float value : FloatsOf(tensor)) {
    above += value == std::nextafter(-1.5f, 0.0f);
    below += value == std::nextafter(-1.5f, -2.0f);
    EXPECT_LE(std::abs(value + 1.5f), 1.2e-7f);
  }
  EXPECT_GT(above, 400);
  EXPECT_GT(below, 400);
  Tensor again = FloatTensor(std::vector<float>(1000, -1.5f));
  Nudge(1, again);
  EXPECT_EQ(again, tensor);
  Tensor other = FloatTensor(std::vector<float>(1000, -1.5f));
  Nudge(2, other);
  EXPECT_NE(other, tensor);
}

TEST(NudgeTest, MovesToNeighboursOfAnotherType) {
  Tensor tensor = FloatTensor(std::vector<float>(100, 1.0f));
  Nudge(1, tensor, ElementType::kBF16);
  for (const float value : FloatsOf(tensor)) {
    EXPECT_THAT(value, testing::AnyOf(1 + 0x1p-7f, 1 - 0x1p-8f));
  }
}

TEST(NudgeTest, LeavesWhatHasNoNeighbours) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {0.0f, -0.0f, infinity, -infinity, 1e-45f};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Tensor tensor = FloatTensor(values);
    Nudge(seed, tensor);
    EXPECT_EQ(tensor, FloatTensor(values));
    // They do not become infinite, or nothing.
    Tensor ends = FloatTensor(
        {std::numeric_limits<float>::max(), std::numeric_limits<float>::min()});
    Nudge(seed, ends);
    EXPECT_TRUE(std::isfinite(FloatsOf(ends)[0]));
    EXPECT_GE(FloatsOf(ends)[1], std::numeric_limits<float>::min());
  }
  Tensor integers = FloatTensor({1.5f});
  integers.type = ElementType::kS32;
  Tensor before = integers;
  Nudge(1, integers);
  EXPECT_EQ(integers, before);
}

}  // namespace
}  // namespace meshwright
