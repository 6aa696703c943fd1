#include "meshwright/base/fold_names.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;

TEST(FoldNamesTest, NumbersThatDifferBecomeStars) {
  EXPECT_THAT(FoldNames({"blocks/0/w", "head/w", "blocks/1/w", "blocks/10/w"}),
              ElementsAre(FoldedName{"blocks/*/w", 3}, FoldedName{"head/w"}));
}

TEST(FoldNamesTest, NumbersThatAgreeStay) {
  EXPECT_THAT(FoldNames({"blocks/0/mlp/0/w", "blocks/1/mlp/0/w"}),
              ElementsAre(FoldedName{"blocks/*/mlp/0/w", 2}));
  EXPECT_THAT(FoldNames({"conv2d_1", "conv2d_2"}),
              ElementsAre(FoldedName{"conv2d_*", 2}));
  EXPECT_THAT(FoldNames({"blocks/3/w"}), ElementsAre(FoldedName{"blocks/3/w"}));
}

TEST(FoldNamesTest, OtherWordsAreOtherNames) {
  EXPECT_THAT(
      FoldNames({"a/0", "b/0", "a/0/c"}),
      ElementsAre(FoldedName{"a/0"}, FoldedName{"b/0"}, FoldedName{"a/0/c"}));
}

TEST(FoldNamesTest, NamesThatAreTheSameAreCounted) {
  EXPECT_THAT(FoldNames({"a/1", "a/1"}), ElementsAre(FoldedName{"a/1", 2}));
}

TEST(FoldNamesTest, ListsAreCutShort) {
  EXPECT_EQ(FoldedList({"a/0", "a/1", "b", "c", "d"}, 2),
            "a/* x 2, b and 2 more");
  EXPECT_EQ(FoldedList({"a/0", "a/1", "b"}, 2), "a/* x 2, b");
  EXPECT_EQ(FoldedList({}, 2), "");
}

}  // namespace
}  // namespace meshwright
