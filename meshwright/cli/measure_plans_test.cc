#include "meshwright/cli/measure_plans.h"

#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace meshwright {
namespace {

Plan PlanOf(const std::string& mesh, double seconds) {
  Plan plan(PlannedLayout{.mesh = *Mesh::Parse(mesh)});
  plan.predicted.step_seconds = seconds;
  return plan;
}

std::vector<double> SecondsOf(const std::vector<Plan>& plans) {
  std::vector<double> seconds;
  for (const Plan& plan : plans) {
    seconds.push_back(plan.predicted.step_seconds);
  }
  return seconds;
}

TEST(NearestPlans, AreThoseNearTheQuickest) {
  EXPECT_EQ(SecondsOf(NearestPlans({PlanOf("data=8", 1.05), PlanOf("data=4", 1),
                                    PlanOf("data=2", 1.2)})),
            (std::vector<double>{1, 1.05}));
}

TEST(NearestPlans, EachIsThereOnce) {
  Plan split = PlanOf("data=8", 1);
  split.layouts[0].strategies.resize(1);
  Plan cut = PlanOf("data=8", 1);
  cut.micro_batches = 2;
  const std::vector<Plan> nearest = NearestPlans(
      {PlanOf("data=8", 1), split, cut, PlanOf("data=8", 1.01), split});
  EXPECT_EQ(nearest.size(), 3u);
}

TEST(NearestPlans, AreFew) {
  std::vector<Plan> plans;
  for (const char* mesh : {"a=8", "b=8", "c=8", "d=8", "e=8", "f=8", "g=8"}) {
    plans.push_back(PlanOf(mesh, 1));
  }
  EXPECT_EQ(NearestPlans(plans).size(), 6u);
}

TEST(StillNear, NarrowsWithEachExecutable) {
  EXPECT_GT(StillNear(1), 1.05);
  EXPECT_LT(StillNear(4), StillNear(2));
}

TEST(TakenOf, IsTheFirstUnlessAnotherIsClearlyAhead) {
  constexpr double kDidNotRun = std::numeric_limits<double>::infinity();
  EXPECT_EQ(TakenOf({1}), 0u);
  EXPECT_EQ(TakenOf({1, 0.98, 1.2}), 0u);
  EXPECT_EQ(TakenOf({1, 0.96, 0.9}), 2u);
  EXPECT_EQ(TakenOf({kDidNotRun, 2, 3}), 1u);
  EXPECT_EQ(TakenOf({kDidNotRun, kDidNotRun}), 0u);
}

TEST(ClientOf, RefusesDevicesThatAreNotThere) {
  Cluster cluster;
  cluster.hosts = {{.devices = 2}};
  cluster.device.kind = "tpu-v5p";
  const auto client = ClientOf(cluster);
  ASSERT_FALSE(client.ok());
  EXPECT_NE(client.status().message().find("--measure"), std::string::npos);
  EXPECT_NE(client.status().message().find("tpu"), std::string::npos);
}

}  // namespace
}  // namespace meshwright
