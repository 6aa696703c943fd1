#include "meshwright/state/tensor.h"

#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

template <typename T>
Tensor Make(ElementType type, std::vector<T> values) {
  Tensor tensor;
  tensor.name = "x";
  tensor.type = type;
  tensor.dimensions = {std::ssize(values)};
  tensor.data.assign(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(T));
  return tensor;
}

TEST(TensorTest, CheckedBytes) {
  EXPECT_EQ(CheckedBytes({}, 4), 4);
  EXPECT_EQ(CheckedBytes({2, 3}, 4), 24);
  EXPECT_EQ(CheckedBytes({int64_t{1} << 62, int64_t{1} << 62, 0}, 4), 0);
  EXPECT_EQ(CheckedBytes({int64_t{1} << 62}, 4), std::nullopt);
  EXPECT_EQ(CheckedBytes({-1}, 4), std::nullopt);
}

TEST(TensorTest, ConformConvertsIntegersThatFit) {
  Tensor tensor = Make<int64_t>(ElementType::kS64, {0, 127, -1});
  ASSERT_TRUE(Conform(Shape::Array(ElementType::kS32, {3}), tensor).ok());
  EXPECT_EQ(tensor, Make<int32_t>(ElementType::kS32, {0, 127, -1}));
  ASSERT_TRUE(Conform(Shape::Array(ElementType::kS8, {3}), tensor).ok());
  const absl::Status status =
      Conform(Shape::Array(ElementType::kU32, {3}), tensor);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("x: is s8[3], expected u32[3]"));
}

TEST(TensorTest, ConformRoundsDoubles) {
  Tensor tensor = Make<double>(ElementType::kF64, {0.5, 0.1});
  ASSERT_TRUE(Conform(Shape::Array(ElementType::kF32, {2}), tensor).ok());
  EXPECT_EQ(tensor, Make<float>(ElementType::kF32, {0.5f, 0.1f}));
}

TEST(TensorTest, ConformRefusesTheRest) {
  Tensor tensor = Make<float>(ElementType::kF32, {1, 2});
  EXPECT_FALSE(Conform(Shape::Array(ElementType::kS32, {2}), tensor).ok());
  EXPECT_FALSE(Conform(Shape::Array(ElementType::kF32, {1, 2}), tensor).ok());
  EXPECT_FALSE(Conform(Shape::Array(ElementType::kBF16, {2}), tensor).ok());
  tensor.type = ElementType::kInvalid;
  tensor.raw_bytes = 1;
  tensor.data = "ab";
  EXPECT_FALSE(Conform(Shape::Array(ElementType::kBF16, {2}), tensor).ok());
  EXPECT_TRUE(Conform(Shape::Array(ElementType::kF8E5M2, {2}), tensor).ok());
}

}  // namespace
}  // namespace meshwright
