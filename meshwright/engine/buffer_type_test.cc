#include "meshwright/engine/buffer_type.h"

#include <gtest/gtest.h>

#include <limits>

namespace meshwright {
namespace {

TEST(BufferShapeTest, PrintsAndMeasuresItself) {
  const BufferShape shape{BufferType::kF32, {2, 3}};
  EXPECT_EQ(shape.ToString(), "f32[2,3]");
  EXPECT_EQ(shape.element_count(), 6);
  EXPECT_EQ(shape.host_bytes(), 24);
}

TEST(BufferShapeTest, ScalarsHaveOneElementAndEmptyArraysNone) {
  EXPECT_EQ((BufferShape{BufferType::kC128, {}}.host_bytes()), 16);
  EXPECT_EQ((BufferShape{BufferType::kF32, {5, 0}}.host_bytes()), 0);
  EXPECT_EQ(
      (BufferShape{BufferType::kF32, {int64_t{1} << 40, int64_t{1} << 40, 0}}
           .host_bytes()),
      0);
}

TEST(BufferShapeTest, NarrowTypesTakeAByteEachOnTheHost) {
  EXPECT_EQ((BufferShape{BufferType::kS4, {7}}.host_bytes()), 7);
}

TEST(BufferShapeTest, SizesThatOverflowSaturate) {
  const BufferShape shape{BufferType::kF64,
                          {int64_t{1} << 40, int64_t{1} << 40}};
  EXPECT_EQ(shape.element_count(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(shape.host_bytes(), std::numeric_limits<int64_t>::max());
}

TEST(BufferTypeTest, NumbersFromElsewhereAreInvalid) {
  EXPECT_EQ(BufferTypeName(static_cast<BufferType>(99)), "invalid");
  EXPECT_EQ(BufferTypeName(static_cast<BufferType>(-1)), "invalid");
  EXPECT_EQ(HostBytesPerElement(static_cast<BufferType>(13)), 0);
}

}  // namespace
}  // namespace meshwright
