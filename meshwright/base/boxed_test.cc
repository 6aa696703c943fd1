#include "meshwright/base/boxed.h"

#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace meshwright {
namespace {

TEST(BoxedTest, AnEmptyBoxReadsAsADefault) {
  const Boxed<std::string> box;
  EXPECT_FALSE(box.has_value());
  EXPECT_EQ(*box, "");
  EXPECT_EQ(box->size(), 0u);
}

TEST(BoxedTest, CopiesAreDeep) {
  Boxed<std::string> box;
  box.mutate() = "one";
  Boxed<std::string> copy = box;
  copy.mutate() = "two";
  EXPECT_EQ(*box, "one");
  EXPECT_EQ(*copy, "two");
  box = copy;
  copy.reset();
  EXPECT_EQ(*box, "two");
  EXPECT_FALSE(copy.has_value());
}

TEST(BoxedTest, MovingLeavesAnEmptyBox) {
  Boxed<std::string> box;
  box.mutate() = "one";
  const Boxed<std::string> moved = std::move(box);
  EXPECT_EQ(*moved, "one");
}

}  // namespace
}  // namespace meshwright
