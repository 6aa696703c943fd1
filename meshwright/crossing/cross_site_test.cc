#include "meshwright/crossing/cross_site.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace meshwright {
namespace {

// Devices 0 and 1 of this process and 2 of another sum up, and so do 3 here and
// 4 there.
absl::StatusOr<CrossSite> Sum(const std::vector<int64_t>& result) {
  return CrossSite::Create(
      {.dimension = -1,
       .groups = {{.tag = 5, .members = {{2, 1}, {1, 0}, {0, 0}}},
                  {.tag = 6, .members = {{3, 0}, {4, 1}}}}},
      {.operands = {{ElementType::kF32, {2, 3}}},
       .results = {{ElementType::kF32, result}}},
      /*process=*/0);
}

// Whoever it is that has arrived adds its name to `gone` when sent away.
CrossArrival ArrivalOf(const std::string& name, std::string* gone) {
  return {.member = {}, .done = [name, gone](absl::Status) { *gone += name; }};
}

TEST(CrossSiteTest, RoundsOfAGroupFollowOneAnother) {
  auto site = Sum({2, 3});
  ASSERT_TRUE(site.ok()) << site.status();
  std::string gone;
  EXPECT_FALSE(site->TakesPart(2));
  EXPECT_FALSE(site->Arrive(0, ArrivalOf("a", &gone)).has_value());
  EXPECT_FALSE(site->Arrive(0, ArrivalOf("c", &gone)).has_value());
  auto first = site->Arrive(1, ArrivalOf("b", &gone));
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(first->is_local());
  EXPECT_EQ(first->round.group->tag, 5);
  // By position in the group.
  ASSERT_EQ(first->round.members.size(), 2);
  EXPECT_EQ(first->round.members[0].position, 1);
  EXPECT_EQ(first->round.members[1].position, 2);
  EXPECT_EQ(first->caller, 0);
  for (const FfiDone& done : first->done) done(absl::OkStatus());
  EXPECT_EQ(gone, "ba");
  // All are here for the second round, but the first is not over.
  EXPECT_FALSE(site->Arrive(1, ArrivalOf("d", &gone)).has_value());
  // Other groups do not wait for it.
  EXPECT_TRUE(site->Arrive(3, ArrivalOf("x", &gone)).has_value());
  auto second = site->Over(first->meeting);
  ASSERT_TRUE(second.has_value());
  for (const FfiDone& done : second->done) done(absl::OkStatus());
  EXPECT_EQ(gone, "badc");
  EXPECT_FALSE(site->Over(second->meeting).has_value());
}

TEST(CrossSiteTest, AllCanBeSentAway) {
  auto site = Sum({2, 3});
  ASSERT_TRUE(site.ok()) << site.status();
  std::string gone;
  EXPECT_FALSE(site->HasArrivals());
  EXPECT_FALSE(site->Arrive(1, ArrivalOf("a", &gone)).has_value());
  EXPECT_FALSE(site->Arrive(1, ArrivalOf("b", &gone)).has_value());
  EXPECT_TRUE(site->HasArrivals());
  for (const CrossArrival& one : site->Clear())
    one.done(absl::AbortedError(""));
  EXPECT_EQ(gone, "ab");
  EXPECT_FALSE(site->HasArrivals());
}

TEST(CrossSiteTest, ArraysMustFit) {
  EXPECT_EQ(
      Sum({2, 2}).status(),
      absl::InvalidArgumentError("all-reduce: the result has another size"));
}

}  // namespace
}  // namespace meshwright
