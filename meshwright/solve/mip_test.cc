#include "meshwright/solve/mip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "meshwright/solve/highs_api.h"
#include "meshwright/solve/random.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(MipTest, SolvesASmallOne) {
  Mip mip;
  const int32_t x = mip.AddVariable({.cost = -3});
  const int32_t y = mip.AddVariable({.cost = -2});
  mip.AddRow({.upper = 1, .terms = {{x, 1}, {y, 1}}});
  const auto answer = SolveMip(mip, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->end, MipEnd::kOptimal);
  EXPECT_THAT(answer->values, ElementsAre(1, 0));
  EXPECT_EQ(answer->cost, -3);
  EXPECT_NEAR(answer->bound, -3, 1e-5);
  EXPECT_LE(answer->bound, -3);
}

// Knapsacks with several rows, whose relaxations are far from integers.
Mip RandomKnapsack(int variables, int rows, uint64_t seed) {
  Random random(seed);
  Mip mip;
  for (int i = 0; i < variables; ++i) {
    mip.AddVariable({.cost = -1.0 - random.Below(100)});
  }
  for (int r = 0; r < rows; ++r) {
    MipRow row;
    double total = 0;
    for (int i = 0; i < variables; ++i) {
      row.terms.push_back({i, 1.0 + random.Below(100)});
      total += row.terms.back().factor;
    }
    row.upper = std::floor(total / 3);
    mip.AddRow(row);
  }
  return mip;
}

double BruteForce(const Mip& mip) {
  double best = kMipInfinity;
  for (uint32_t set = 0; set < 1u << mip.variables.size(); ++set) {
    const auto taken = [&](int32_t i) { return (set >> i & 1u) != 0; };
    bool fits = true;
    for (const MipRow& row : mip.rows) {
      double sum = 0;
      for (const MipTerm& term : row.terms) {
        if (taken(term.variable)) sum += term.factor;
      }
      fits = fits && row.lower <= sum && sum <= row.upper;
    }
    if (!fits) continue;
    double cost = 0;
    for (int32_t i = 0; i < std::ssize(mip.variables); ++i) {
      if (taken(i)) cost += mip.variables[i].cost;
    }
    best = std::min(best, cost);
  }
  return best;
}

TEST(MipTest, FindsWhatTryingAllFinds) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    const Mip mip = RandomKnapsack(12, 3, seed);
    const auto answer = SolveMip(mip, {});
    ASSERT_TRUE(answer.ok()) << answer.status();
    const double best = BruteForce(mip);
    EXPECT_EQ(answer->end, MipEnd::kOptimal);
    EXPECT_EQ(answer->cost, best);
    EXPECT_LE(answer->bound, best);
    EXPECT_GT(answer->bound, best - 1);
  }
}

TEST(MipTest, SaysWhatCannotBe) {
  Mip mip;
  mip.AddVariable({});
  mip.AddVariable({});
  mip.AddRow({.lower = 0.5, .upper = 0.75, .terms = {{0, 1}, {1, 1}}});
  const auto answer = SolveMip(mip, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->end, MipEnd::kInfeasible);
  EXPECT_THAT(answer->values, IsEmpty());
  EXPECT_EQ(answer->bound, kMipInfinity);
}

TEST(MipTest, LimitsStopItAtTheSamePlaceEachTime) {
  const Mip mip = RandomKnapsack(40, 6, 3);
  const MipOptions all[] = {{.node_limit = 20}, {.iteration_limit = 300}};
  for (const MipOptions& options : all) {
    const auto once = SolveMip(mip, options);
    const auto twice = SolveMip(mip, options);
    ASSERT_TRUE(once.ok() && twice.ok());
    EXPECT_EQ(once->end, MipEnd::kStopped);
    EXPECT_LT(once->iterations, 3000);
    EXPECT_EQ(once->values, twice->values);
    EXPECT_EQ(once->bound, twice->bound);
    EXPECT_EQ(once->iterations, twice->iterations);
    EXPECT_LT(once->bound, once->cost);
  }
}

TEST(MipTest, StartsFromWhatItIsGiven) {
  const Mip mip = RandomKnapsack(40, 6, 3);
  const auto best = SolveMip(mip, {.node_limit = 200});
  ASSERT_TRUE(best.ok());
  const auto again = SolveMip(mip, {.node_limit = 1, .initial = best->values});
  ASSERT_TRUE(again.ok());
  EXPECT_LE(again->cost, best->cost);
}

TEST(MipTest, RefusesAnEmptyRange) {
  Mip mip;
  mip.AddVariable({.lower = std::nan(""), .upper = 1});
  EXPECT_EQ(SolveMip(mip, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(LoadHighsTest, SaysWhereItLooked) {
  const auto api = LoadHighs({.libraries = {"/no/lib"}, .packages = {"/no/p"}});
  EXPECT_EQ(api.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(api.status().message()),
              testing::AllOf(HasSubstr("highspy=="), HasSubstr("/no/lib"),
                             HasSubstr("/no/p")));
}

TEST(LoadHighsTest, SaysWhyWhatIsThereDoesNotDo) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "highs_that_is_none";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "libhighs.so.1") << "no library";
  const auto api = LoadHighs({.libraries = {folder}});
  std::filesystem::remove_all(folder);
  EXPECT_EQ(api.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(api.status().message()),
              HasSubstr("libhighs.so.1 cannot be loaded: "));
}

}  // namespace
}  // namespace meshwright
