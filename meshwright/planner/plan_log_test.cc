#include "meshwright/planner/plan_log.h"

#include "gtest/gtest.h"

namespace meshwright {
namespace {

TEST(PlanLog, EverySecondIsCountedOnce) {
  PlanLog log;
  {
    const InPhase sketch(log, kSketch);
    EXPECT_EQ(log.phase, kSketch);
    {
      const InPhase enumerate(log, kEnumerate);
      EXPECT_EQ(log.phase, kEnumerate);
    }
    EXPECT_EQ(log.phase, kSketch);
  }
  EXPECT_EQ(log.Enter(kChoose), kEnumerate);
  double sum = 0;
  for (const auto& [phase, seconds] : log.seconds) {
    EXPECT_GE(seconds, 0) << phase;
    sum += seconds;
  }
  EXPECT_EQ(log.seconds.size(), 2u);
  EXPECT_NEAR(sum, log.since, 1e-12);
}

}  // namespace
}  // namespace meshwright
