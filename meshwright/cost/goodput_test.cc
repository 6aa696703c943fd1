#include "meshwright/cost/goodput.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace meshwright {
namespace {

// Steps of a second and checkpoints, second by second, with failures drawn at
// random: the part of the time whose steps were not lost.
double Simulated(double mtbf, double save, double restart, double interval,
                 int64_t checkpoints) {
  std::mt19937_64 random(7);
  std::exponential_distribution<double> until(1 / mtbf);
  double now = 0;
  double failure = until(random);
  const auto passes = [&](double seconds) {
    if (now + seconds <= failure) {
      now += seconds;
      return true;
    }
    now = failure;
    failure = now + until(random);
    return false;
  };
  for (int64_t done = 0; done < checkpoints; ++done) {
    while (!passes(interval + save)) {
      while (!passes(restart)) {
      }
    }
  }
  return static_cast<double>(checkpoints) * interval / now;
}

TEST(GoodputTest, EqualsASimulation) {
  struct Case {
    double mtbf, save, restart, interval;
  };
  for (const Case& one : {Case{10000, 60, 300, 1000}, Case{1000, 60, 300, 300},
                          Case{3000, 10, 600, 3000}, Case{500, 100, 50, 40}}) {
    const Goodput goodput =
        ExpectedGoodput({.devices = 4,
                         .device_mtbf_seconds = 4 * one.mtbf,
                         .save_seconds = one.save,
                         .restart_seconds = one.restart,
                         .interval_seconds = one.interval});
    EXPECT_DOUBLE_EQ(goodput.mtbf_seconds, one.mtbf);
    EXPECT_NEAR(goodput.share,
                Simulated(one.mtbf, one.save, one.restart, one.interval, 40000),
                0.01 * goodput.share);
  }
}

TEST(GoodputTest, TheBestIntervalIsTheBest) {
  FailureModel model{.devices = 16384,
                     .device_mtbf_seconds = 50000 * 3600.0,
                     .save_seconds = 60,
                     .restart_seconds = 300};
  const Goodput best = ExpectedGoodput(model);
  EXPECT_EQ(best.interval_seconds, best.best_interval_seconds);
  // Young's rule, which is near it.
  EXPECT_NEAR(best.interval_seconds, std::sqrt(2 * 60 * best.mtbf_seconds),
              0.05 * best.interval_seconds);
  EXPECT_NEAR(best.share, 0.87, 0.01);
  for (const double other : {0.5, 0.9, 1.1, 2.0}) {
    model.interval_seconds = other * best.interval_seconds;
    EXPECT_LT(ExpectedGoodput(model).share, best.share) << other;
  }
}

TEST(GoodputTest, NothingIsLostWhereNothingFails) {
  EXPECT_NEAR(ExpectedGoodput({.device_mtbf_seconds = 1e15,
                               .save_seconds = 10,
                               .restart_seconds = 100,
                               .interval_seconds = 90})
                  .share,
              0.9, 1e-6);
  EXPECT_NEAR(ExpectedGoodput({.device_mtbf_seconds = 1e6}).share, 1, 1e-9);
}

}  // namespace
}  // namespace meshwright
