#include "meshwright/cost/donated_buffers.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

using testing::ElementsAre;

TEST(FillPlacesTest, OneAfterTheOther) {
  const std::vector<DonatedBuffer> places = {
      {.bytes = 8, .after = 0, .before = 9}};
  EXPECT_THAT(FillDonated(places, {{8, 1, 3}, {8, 4, 8}}),
              ElementsAre(true, true));
  EXPECT_THAT(FillDonated(places, {{8, 1, 3}, {8, 3, 8}}),
              ElementsAre(true, false));
}

TEST(FillPlacesTest, OnlyWhileThePlaceIsFreeAndLargeEnough) {
  const std::vector<DonatedBuffer> places = {
      {.bytes = 8, .after = 2, .before = 5}};
  EXPECT_THAT(FillDonated(places, {{8, 2, 3}}), ElementsAre(false));
  EXPECT_THAT(FillDonated(places, {{8, 3, 5}}), ElementsAre(false));
  EXPECT_THAT(FillDonated(places, {{9, 3, 4}}), ElementsAre(false));
  EXPECT_THAT(FillDonated(places, {{8, 3, 4}}), ElementsAre(true));
}

// The small one leaves the large place to the large one.
TEST(FillPlacesTest, LargestFirstIntoTheSmallestPlace) {
  const std::vector<DonatedBuffer> places = {
      {.bytes = 8, .after = 0, .before = 9},
      {.bytes = 4, .after = 0, .before = 9}};
  EXPECT_THAT(FillDonated(places, {{2, 1, 8}, {8, 1, 8}, {1, 1, 8}}),
              ElementsAre(true, true, false));
}

}  // namespace
}  // namespace meshwright
