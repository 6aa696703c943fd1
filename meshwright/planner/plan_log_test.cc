#include "meshwright/planner/plan_log.h"

#include <vector>

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

TEST(PlanLog, TellsOfEveryCandidateAndPhase) {
  std::vector<size_t> tried;
  std::vector<size_t> phases;
  PlanLog log{.record = [&](const PlanProgress& so_far) {
    tried.push_back(so_far.tried.size());
    phases.push_back(so_far.seconds.size());
  }};
  {
    const InPhase sketch(log, kSketch);
    log.Add({.mesh = "data=8"});
  }
  EXPECT_EQ(tried, (std::vector<size_t>{0, 1, 1}));
  EXPECT_EQ(phases, (std::vector<size_t>{1, 2, 2}));
  EXPECT_EQ(log.phase, kEnumerate);
}

}  // namespace
}  // namespace meshwright
