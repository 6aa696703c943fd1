#include "meshwright/reshard/reshard_path_cache.h"

#include <gtest/gtest.h>

#include "meshwright/base/side_by_side.h"
#include "meshwright/mesh/sharding_text.h"
#include "meshwright/reshard/reshard.h"

namespace meshwright {
namespace {

TEST(ReshardPathCacheTest, AreFoundOnce) {
  ReshardPathCache known;
  int asked = 0;
  const auto find = [&] {
    ++asked;
    return std::vector<ReshardPath>{{.latency = 3}};
  };
  const std::vector<ReshardPath>& first = known.Of({1, 2}, find);
  EXPECT_EQ(first[0].latency, 3);
  EXPECT_EQ(&known.Of({1, 2}, find), &first);
  EXPECT_EQ(asked, 1);
  known.Of({2, 1}, find);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(known.size(), 2);
}

TEST(ReshardPathCacheTest, SeveralReshardersShareThem) {
  const Mesh mesh = *Mesh::Parse("a=2,b=4");
  const auto from = ParseSharding("[a, b]", {16, 16}, mesh);
  const auto to = ParseSharding("[b, a]", {16, 16}, mesh);
  ASSERT_TRUE(from.ok() && to.ok());
  const double price =
      Resharder(&mesh, Prices()).Price(ElementType::kF32, *from, *to);
  EXPECT_GT(price, 0);
  const auto known = std::make_shared<ReshardPathCache>();
  std::vector<double> prices(8);
  SideBySide(static_cast<int>(prices.size()), [&](int i) {
    prices[i] =
        Resharder(&mesh, Prices(), known).Price(ElementType::kF32, *from, *to);
  });
  EXPECT_EQ(prices, std::vector<double>(8, price));
  EXPECT_EQ(known->size(), 1);
}

}  // namespace
}  // namespace meshwright
