#include "meshwright/data/permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace meshwright {
namespace {

TEST(PermutationTest, EveryIndexOnceForEverySize) {
  for (int64_t size = 1; size <= 300; ++size) {
    for (const uint64_t key : {uint64_t{0}, uint64_t{7}, ~uint64_t{0}}) {
      const Permutation order(size, key);
      std::vector<bool> seen(size);
      for (int64_t i = 0; i < size; ++i) {
        const int64_t at = order.At(i);
        ASSERT_GE(at, 0);
        ASSERT_LT(at, size);
        ASSERT_FALSE(seen[at]) << size << " " << i;
        seen[at] = true;
      }
    }
  }
}

TEST(PermutationTest, LargeSizesAreBijections) {
  for (const int64_t size : {65536, 65537, 99991, 262143}) {
    const Permutation order(size, 3);
    std::vector<bool> seen(size);
    for (int64_t i = 0; i < size; ++i) seen[order.At(i)] = true;
    EXPECT_EQ(std::count(seen.begin(), seen.end(), true), size);
  }
  const int64_t most = int64_t{1} << 62;
  EXPECT_LT(Permutation(most, 1).At(most - 1), most);
}

// Neighbours end up far apart, and few elements where they were.
TEST(PermutationTest, IsAShuffle) {
  constexpr int64_t kSize = 10000;
  const Permutation order(kSize, 42);
  int64_t fixed = 0;
  double distance = 0;
  for (int64_t i = 0; i < kSize; ++i) fixed += order.At(i) == i;
  for (int64_t i = 1; i < kSize; ++i) {
    distance += static_cast<double>(std::abs(order.At(i) - order.At(i - 1)));
  }
  EXPECT_LT(fixed, 10);
  // A third of the size, of independent ones.
  EXPECT_NEAR(distance / kSize, kSize / 3.0, kSize * 0.02);
}

TEST(PermutationTest, KeysGiveOtherOrders) {
  int64_t same = 0;
  const Permutation one(1000, DeriveKey(7, 0));
  const Permutation other(1000, DeriveKey(7, 1));
  for (int64_t i = 0; i < 1000; ++i) same += one.At(i) == other.At(i);
  EXPECT_LT(same, 10);
}

// As computed by python/meshwright/sample_order.py.
TEST(PermutationTest, StaysTheSame) {
  EXPECT_EQ(DeriveKey(7, 3), 10753165928301472203u);
  const Permutation order(1000, 7);
  const std::vector<int64_t> want = {752, 163, 995, 631, 552};
  for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(order.At(i), want[i]) << i;
}

}  // namespace
}  // namespace meshwright
