// Bounds and option slack against optima found by trying everything.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "meshwright/solve/brute_force_for_test.h"
#include "meshwright/solve/certify.h"
#include "meshwright/solve/core.h"
#include "meshwright/solve/dual.h"
#include "meshwright/solve/forest_sweep.h"
#include "meshwright/solve/selection.h"

namespace meshwright {
namespace {

struct Small {
  Problem problem;
  Core core;
  std::vector<int32_t> optimum;  // A choice of the core.
  int64_t cost = 0;
};

// Unreduced cores of random problems that have an allowed assignment.
std::vector<Small> SmallCores(int count, bool limited) {
  std::vector<Small> result;
  for (uint64_t seed = 0; std::ssize(result) < count; ++seed) {
    Small small;
    small.problem = RandomProblem(
        {.nodes = 6, .edges = 11, .limited = limited, .forbidden = 0.1}, seed);
    const auto best = BruteForce(small.problem);
    if (!best.has_value()) continue;
    Graph graph(small.problem);
    small.core = BuildCore(graph);
    small.optimum = ChoiceInCore(small.core, *best);
    small.cost = Evaluate(small.problem, *best).cost;
    result.push_back(std::move(small));
  }
  return result;
}

TEST(CertifiedBoundTest, HoldsForAnyPricesAndMessages) {
  Random random(7);
  for (const Small& small : SmallCores(100, true)) {
    for (int round = 0; round < 20; ++round) {
      const double size = std::pow(10, random.Below(8) - 2);
      Prices prices(small.core.points());
      for (double& price : prices) price = size * (random.Unit() - 0.2);
      Messages messages = NoMessages(small.core);
      for (double& message : messages) message = size * (random.Unit() - 0.5);
      EXPECT_LE(CertifiedBound(small.core, prices, messages), small.cost);
    }
  }
}

TEST(CertifiedBoundTest, AgreesWithTheDual) {
  for (const Small& small : SmallCores(50, true)) {
    Core core = small.core;
    ClampCosts(core, small.cost + 1);
    Dual dual(core, FreshStart(core), 1);
    for (int i = 0; i < 40; ++i) dual.Step(static_cast<double>(small.cost));
    const double best = dual.best_bound() + static_cast<double>(core.constant);
    EXPECT_LE(best, static_cast<double>(small.cost) + 1e-6);
    EXPECT_NEAR(static_cast<double>(dual.Certify()), best, 1.001);
    EXPECT_GE(static_cast<double>(dual.Certify()), best - 1e-6);
  }
}

TEST(OptionSlackTest, NeverExceedsWhatAnOptionCosts) {
  int useful = 0;
  for (const Small& small : SmallCores(100, true)) {
    Core core = small.core;
    if (useful % 2 == 0) ClampCosts(core, small.cost - core.constant + 1);
    Dual dual(core, FreshStart(core), 1);
    for (int i = 0; i < 10; ++i) dual.Step(static_cast<double>(small.cost));
    const std::vector<double> slack = dual.OptionSlack();
    // Best cost with each option, by trying everything.
    std::vector<double> best(core.costs.size(), 1e300);
    Selection now(core);
    while (true) {
      for (int32_t v = 0; now.allowed() && v < core.nodes; ++v) {
        double& cost = best[core.first_option[v] + now[v]];
        cost = std::min(cost, static_cast<double>(now.cost()));
      }
      int32_t v = 0;
      while (v < core.nodes && now[v] + 1 == core.options(v)) now.Set(v++, 0);
      if (v == core.nodes) break;
      now.Set(v, now[v] + 1);
    }
    const double gap =
        static_cast<double>(small.cost - core.constant) - dual.best_bound();
    for (size_t i = 0; i < slack.size(); ++i) {
      EXPECT_LE(dual.best_bound() + slack[i], best[i] + 1e-6);
      useful += slack[i] > gap;
    }
    for (int32_t v = 0; v < core.nodes; ++v) {
      EXPECT_LE(slack[core.first_option[v] + small.optimum[v]], gap + 1e-6);
    }
  }
  EXPECT_GT(useful, 200);
}

TEST(ForestSweepTest, NeverMakesAnAssignmentWorse) {
  Random random(3);
  for (const Small& small : SmallCores(50, false)) {
    const Core& core = small.core;
    const std::vector<double> unary(core.costs.begin(), core.costs.end());
    ForestSweep sweep(core);
    std::vector<int32_t> all(core.nodes);
    std::iota(all.begin(), all.end(), 0);
    std::vector<int32_t> choice(core.nodes);
    for (int32_t v = 0; v < core.nodes; ++v) {
      choice[v] = random.Below(core.options(v));
    }
    Selection before(core);
    before.Assign(choice);
    for (int i = 0; i < 10; ++i) {
      sweep.Run(all, unary, random, choice);
      Selection after(core);
      after.Assign(choice);
      EXPECT_LE(after.cost(), before.cost());
      before = after;
    }
    EXPECT_GE(before.cost() + core.constant, small.cost);
  }
}

TEST(SelectionTest, KeepsCostAndUsageUpToDate) {
  Random random(5);
  for (const Small& small : SmallCores(50, true)) {
    const Core& core = small.core;
    Selection selection(core);
    for (int i = 0; i < 30; ++i) {
      const int32_t v = random.Below(core.nodes);
      const int32_t option = random.Below(core.options(v));
      const int64_t want = selection.cost() + selection.CostOf(v, option);
      const bool fits = selection.Fits(v, option);
      const bool held = selection.broken_points() == 0;
      selection.Set(v, option);
      EXPECT_EQ(selection.cost(), want);
      if (held) {
        EXPECT_EQ(fits, selection.broken_points() == 0);
      }
    }
    std::vector<int64_t> usage;
    UsageOf(core, selection.choice(), usage);
    EXPECT_EQ(usage, selection.usage());
    Selection fresh(core);
    fresh.Assign(selection.choice());
    EXPECT_EQ(fresh.cost(), selection.cost());
    EXPECT_EQ(fresh.broken_points(), selection.broken_points());
  }
}

}  // namespace
}  // namespace meshwright
