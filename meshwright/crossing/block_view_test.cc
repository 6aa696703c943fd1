#include "meshwright/crossing/block_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace meshwright {
namespace {

using ::testing::ElementsAre;

TEST(BlockViewTest, CopiesColumns) {
  std::vector<std::byte> from(12);
  for (int i = 0; i < 12; ++i) from[i] = static_cast<std::byte>(i);
  // Columns 2 and 3 of 3 x 4 bytes.
  const BlockView columns = {from.data() + 2, 3, 4, 2};
  EXPECT_FALSE(columns.is_contiguous());
  std::vector<std::byte> packed(6);
  CopyBlock(columns, DenseBlock(packed.data(), 1, 6));
  const auto value = [](int i) { return static_cast<std::byte>(i); };
  EXPECT_THAT(packed, ElementsAre(value(2), value(3), value(6), value(7),
                                  value(10), value(11)));
  // Into columns 0 and 1 of 3 x 3.
  std::vector<std::byte> to(9);
  CopyBlock(columns, {to.data(), 3, 3, 2});
  EXPECT_THAT(to, ElementsAre(value(2), value(3), value(0), value(6), value(7),
                              value(0), value(10), value(11), value(0)));
  std::vector<std::byte> back(9);
  CopyBlock(DenseBlock(packed.data(), 3, 2), {back.data(), 3, 3, 2});
  EXPECT_EQ(back, to);
  CopyBlock({}, {});
}

}  // namespace
}  // namespace meshwright
