#include "meshwright/state/join_tensors.h"

#include <vector>

#include "gtest/gtest.h"

namespace meshwright {
namespace {

TEST(JoinTensorsTest, PartsAlongEveryDimensionMakeTheWhole) {
  Tensor whole{.name = "w", .type = ElementType::kU8, .dimensions = {2, 3, 4}};
  for (char i = 0; i < 24; ++i) whole.data.push_back(i);
  for (int64_t dimension = 0; dimension < 3; ++dimension) {
    const int64_t size = whole.dimensions[dimension];
    const std::vector<Tensor> parts = {SliceTensor(whole, dimension, 0, 1),
                                       SliceTensor(whole, dimension, 1, size)};
    EXPECT_EQ(parts[1].dimensions[dimension], size - 1);
    EXPECT_EQ(JoinTensors(parts, dimension), whole);
  }
  EXPECT_EQ(SliceTensor(whole, 1, 1, 2).data,
            std::string({4, 5, 6, 7, 16, 17, 18, 19}));
}

TEST(JoinTensorsTest, AScalarIsItsOnlyPart) {
  const Tensor scalar{.name = "s", .type = ElementType::kU8, .data = "x"};
  EXPECT_EQ(JoinTensors({scalar}, 0), scalar);
}

}  // namespace
}  // namespace meshwright
