#include "meshwright/base/check.h"

#include <vector>

#include "gtest/gtest.h"

namespace meshwright {
namespace {

TEST(CheckDeathTest, SaysWhatIsWrongAndWhere) {
  EXPECT_DEATH(MW_CHECK(1 > 2) << "of all things",
               "check_test.cc:[0-9]+: internal error: 1 > 2 of all things");
}

#ifdef _GLIBCXX_ASSERTIONS
TEST(CheckDeathTest, IndicesAreChecked) {
  const std::vector<int> three(3);
  size_t index = three.size();
  EXPECT_DEATH(static_cast<void>(three[index]), "internal error: .*operator");
}
#endif

}  // namespace
}  // namespace meshwright
