#include "meshwright/state/tensor_error.h"

#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor TensorOf(const std::vector<double>& values) {
  Tensor tensor{.name = "x", .type = ElementType::kF64};
  tensor.dimensions = {std::ssize(values)};
  tensor.data.assign(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(double));
  return tensor;
}

TensorError ErrorOf(const std::vector<double>& want,
                    const std::vector<double>& got,
                    const std::vector<double>& nudged = {},
                    const ErrorLimits& limits = {}) {
  TensorError error = CompareTensors(TensorOf(want), TensorOf(got), limits);
  if (!nudged.empty()) error.AddNoise(TensorOf(want), TensorOf(nudged));
  return error;
}

TEST(TensorErrorTest, IsWithinATolerance) {
  const TensorError error = ErrorOf({1, 10}, {1, 10.0001});
  EXPECT_EQ(error.verdict(), ErrorVerdict::kEqual);
  EXPECT_NEAR(error.relative(), 1e-5, 1e-9);
  EXPECT_EQ(ErrorOf({1, 10}, {1, 10.001}).verdict(), ErrorVerdict::kWrong);
  EXPECT_THAT(ErrorOf({1, 10}, {1, 11}).beyond,
              HasSubstr("x: element 1 is 11"));
  // Small elements beside large ones.
  EXPECT_EQ(ErrorOf({0, 10}, {1e-5, 10}).verdict(), ErrorVerdict::kEqual);
  EXPECT_EQ(ErrorOf({0, 10}, {1e-4, 10}).verdict(), ErrorVerdict::kWrong);
}

TEST(TensorErrorTest, IsRoundingIfNudgesMakeOneOfItsSize) {
  EXPECT_EQ(ErrorOf({1, 10}, {1, 10.001}, {1, 10.0002}).verdict(),
            ErrorVerdict::kRounding);
  EXPECT_EQ(ErrorOf({1, 10}, {1, 10.001}, {1, 10.0001}).verdict(),
            ErrorVerdict::kWrong);
  EXPECT_EQ(ErrorOf({1, 10}, {1, 10.001}, {1, 10.001}, {.heeds_noise = false})
                .verdict(),
            ErrorVerdict::kWrong);
}

TEST(TensorErrorTest, LargeNoiseIsNoGroundForEquality) {
  EXPECT_EQ(ErrorOf({1, 10}, {1, 10.2}, {1, 10.1}).verdict(),
            ErrorVerdict::kUnclear);
  // Nor does it make wrong what is equal, or excuse what is beyond it.
  EXPECT_EQ(ErrorOf({1, 10}, {1, 10}, {1, 11}).verdict(), ErrorVerdict::kEqual);
  EXPECT_EQ(ErrorOf({1, 10}, {1, 20}, {1, 11}).verdict(), ErrorVerdict::kWrong);
}

TEST(TensorErrorTest, NumbersBesideNoneAreWrong) {
  EXPECT_EQ(ErrorOf({kNan, 1}, {kNan, 1}).verdict(), ErrorVerdict::kUnclear);
  EXPECT_EQ(ErrorOf({1, 1}, {kNan, 1}, {1.1, 1}).verdict(),
            ErrorVerdict::kWrong);
  EXPECT_EQ(ErrorOf({kNan, 1}, {1, 1}).verdict(), ErrorVerdict::kWrong);
  // Both where nudges make and unmake them.
  EXPECT_EQ(ErrorOf({1, 1}, {kNan, 1}, {kNan, 1}).verdict(),
            ErrorVerdict::kUnclear);
  EXPECT_EQ(ErrorOf({0, 0}, {0, 1e-30}).verdict(), ErrorVerdict::kWrong);
}

}  // namespace
}  // namespace meshwright
