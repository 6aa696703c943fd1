#include "meshwright/solve/min_cut.h"

#include <algorithm>
#include <random>
#include <tuple>

#include "gtest/gtest.h"

namespace meshwright {
namespace {

TEST(MinCutTest, CutsTheCheaperEdge) {
  MinCut cut;
  const int32_t a = cut.AddNode();
  const int32_t b = cut.AddNode();
  cut.AddEdge(cut.source(), a, 3);
  cut.AddEdge(a, b, 2);
  cut.AddEdge(b, cut.sink(), MinCut::kNever);
  const std::vector<bool> before = cut.Solve();
  EXPECT_TRUE(before[a]);
  EXPECT_FALSE(before[b]);
}

TEST(MinCutTest, PrefersTheCutNearestToTheSource) {
  MinCut cut;
  const int32_t a = cut.AddNode();
  cut.AddEdge(cut.source(), a, 2);
  cut.AddEdge(a, cut.sink(), 2);
  EXPECT_FALSE(cut.Solve()[a]);
}

TEST(MinCutTest, CostsAsLittleAsTryingAllCuts) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    constexpr int kNodes = 8;
    MinCut cut;
    for (int i = 2; i < kNodes; ++i) cut.AddNode();
    std::vector<std::tuple<int32_t, int32_t, int64_t>> edges;
    for (int i = 0; i < 18; ++i) {
      const int32_t from = static_cast<int32_t>(random() % kNodes);
      const int32_t to = static_cast<int32_t>(random() % kNodes);
      const int64_t cost = random() % 9 == 0 ? 1000 : random() % 20;
      edges.emplace_back(from, to, cost);
      cut.AddEdge(from, to, cost);
    }
    const auto cost_of = [&](const std::vector<bool>& with_source) {
      int64_t cost = 0;
      for (const auto& [from, to, price] : edges) {
        if (with_source[from] && !with_source[to]) cost += price;
      }
      return cost;
    };
    int64_t best = MinCut::kNever;
    for (int bits = 0; bits < 1 << (kNodes - 2); ++bits) {
      std::vector<bool> side = {true, false};
      for (int i = 0; i < kNodes - 2; ++i) side.push_back(bits >> i & 1);
      best = std::min(best, cost_of(side));
    }
    const std::vector<bool> found = cut.Solve();
    EXPECT_TRUE(found[cut.source()]);
    EXPECT_FALSE(found[cut.sink()]);
    EXPECT_EQ(cost_of(found), best) << "round " << round;
  }
}

}  // namespace
}  // namespace meshwright
