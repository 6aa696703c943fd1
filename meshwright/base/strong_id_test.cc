#include "meshwright/base/strong_id.h"

#include <sstream>
#include <type_traits>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "gtest/gtest.h"

namespace meshwright {
namespace {

using Apple = StrongId<struct AppleTag>;
using Pear = StrongId<struct PearTag>;
using SmallPear = StrongId<struct SmallPearTag, int8_t>;

static_assert(sizeof(Apple) == sizeof(int32_t));
static_assert(sizeof(SmallPear) == sizeof(int8_t));
static_assert(std::is_trivially_copyable_v<Apple>);

template <typename A, typename B>
concept Compared = requires(A a, B b) {
  a == b;
};
template <typename A, typename B>
concept Ordered = requires(A a, B b) {
  a < b;
};
template <typename A, typename B>
concept Subtracted = requires(A a, B b) {
  a - b;
};
template <typename A, typename B>
concept Added = requires(A a, B b) {
  a + b;
};

static_assert(std::is_convertible_v<Apple, int32_t>);
static_assert(std::is_constructible_v<Apple, size_t>);
static_assert(!std::is_convertible_v<int32_t, Apple>);
static_assert(!std::is_assignable_v<Apple&, int32_t>);
static_assert(!std::is_constructible_v<Apple, double>);
static_assert(!std::is_constructible_v<Apple, Pear>);
static_assert(!std::is_assignable_v<Apple&, Pear>);
static_assert(Compared<Apple, Apple> && Compared<Apple, int64_t>);
static_assert(Ordered<Apple, Apple> && Ordered<int64_t, Apple>);
static_assert(Subtracted<Apple, Apple> && Added<Apple, size_t>);
static_assert(!Compared<Apple, Pear> && !Compared<Apple, SmallPear>);
static_assert(!Ordered<Apple, Pear> && !Ordered<SmallPear, Apple>);
static_assert(!Subtracted<Apple, Pear> && !Added<Apple, Pear>);
static_assert(!Added<Apple, Apple>);

TEST(StrongId, IsAnIndexThatCounts) {
  const std::vector<int> weights = {5, 7, 9};
  int sum = 0;
  for (Apple apple; apple < std::ssize(weights); ++apple) {
    sum += weights[apple];
  }
  EXPECT_EQ(sum, 21);

  Apple apple(2);
  static_assert(std::is_same_v<decltype(apple + size_t{1}), Apple>);
  static_assert(std::is_same_v<decltype(apple - Apple(1)), int32_t>);
  EXPECT_EQ(apple + size_t{1}, Apple(3));
  EXPECT_EQ(apple - 3, Apple(-1));
  EXPECT_EQ(apple - Apple(5), -3);
  EXPECT_EQ(apple--, Apple(2));
  EXPECT_EQ(apple++, Apple(1));
  EXPECT_EQ(--apple, Apple(1));
}

TEST(StrongId, IsOrderedHashedAndPrinted) {
  EXPECT_LT(Apple(-1), Apple(0));
  EXPECT_TRUE(Apple(4) == 4 && Apple(4) < int64_t{5});
  const absl::flat_hash_set<Apple> apples = {Apple(1), Apple(1), Apple(2)};
  EXPECT_EQ(apples.size(), 2);
  std::ostringstream text;
  text << Apple(-1);
  EXPECT_EQ(text.str(), "-1");
}

}  // namespace
}  // namespace meshwright
