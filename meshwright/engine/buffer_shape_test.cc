#include "meshwright/engine/buffer_shape.h"

#include <gtest/gtest.h>

#include <limits>

namespace meshwright {
namespace {

TEST(BufferShapeTest, PrintsAndMeasuresItself) {
  const BufferShape shape{ElementType::kF32, {2, 3}};
  EXPECT_EQ(shape.ToString(), "f32[2,3]");
  EXPECT_EQ(shape.element_count(), 6);
  EXPECT_EQ(shape.host_bytes(), 24);
}

TEST(BufferShapeTest, ScalarsHaveOneElementAndEmptyArraysNone) {
  EXPECT_EQ((BufferShape{ElementType::kC128, {}}.host_bytes()), 16);
  EXPECT_EQ((BufferShape{ElementType::kF32, {5, 0}}.host_bytes()), 0);
  EXPECT_EQ(
      (BufferShape{ElementType::kF32, {int64_t{1} << 40, int64_t{1} << 40, 0}}
           .host_bytes()),
      0);
}

TEST(BufferShapeTest, NarrowTypesTakeAByteEachOnTheHost) {
  EXPECT_EQ((BufferShape{ElementType::kS4, {7}}.host_bytes()), 7);
}

TEST(BufferShapeTest, SizesThatOverflowSaturate) {
  const BufferShape shape{ElementType::kF64,
                          {int64_t{1} << 40, int64_t{1} << 40}};
  EXPECT_EQ(shape.element_count(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(shape.host_bytes(), std::numeric_limits<int64_t>::max());
}

}  // namespace
}  // namespace meshwright
