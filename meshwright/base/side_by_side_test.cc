#include "meshwright/base/side_by_side.h"

#include <atomic>
#include <vector>

#include "gtest/gtest.h"

namespace meshwright {
namespace {

TEST(SideBySide, CallsEachOnce) {
  std::vector<std::atomic<int>> calls(100);
  SideBySide(100, [&](int i) { ++calls[i]; });
  for (const std::atomic<int>& count : calls) EXPECT_EQ(count, 1);
  SideBySide(0, [](int) { ADD_FAILURE(); });
}

}  // namespace
}  // namespace meshwright
