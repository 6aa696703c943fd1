#include "meshwright/planner/stage_plan.h"

#include <string>

#include "gtest/gtest.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/planner/find_plan.h"
#include "meshwright/planner/planner.h"
#include "meshwright/search/zoo_for_test.h"

namespace meshwright {
namespace {

struct StagesCase {
  const char* model;
  int32_t stages;
  bool has_loops;  // Which stages share.
  bool is_large = false;
};

class StagePlanTest : public testing::TestWithParam<StagesCase> {};

TEST_P(StagePlanTest, HasTheStagesThatWereAskedFor) {
  const auto [model, stages, has_loops, is_large] = GetParam();
  const Module module = ReadTiny(model);
  const absl::StatusOr<Cluster> cluster = ParseClusterSpec("h200:8", {});
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  const PlanRequest request{.stages = stages, .time_limit_seconds = 3600};
  SearchPolicy policy;
  if (is_large) policy.small = kLargeStepEffort;
  const absl::StatusOr<PlanChoice> choice =
      MakePlanIn(module, *cluster, AssumedRates(*cluster), request, {}, policy);
  ASSERT_TRUE(choice.ok()) << choice.status();
  const Plan* const plan = &choice->plan;
  EXPECT_EQ(plan->stages(), stages);
  EXPECT_GT(plan->predicted.step_seconds, 0);
  const absl::StatusOr<PlannedStages> made = StagePlan(module, *plan);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->split.has_value() && made->split->has_cut_loops, has_loops);
  for (const PlannedPipeline::Stage& stage : plan->pipeline->stages) {
    EXPECT_GT(stage.forward, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, StagePlanTest,
                         testing::ValuesIn<StagesCase>({{"gpt", 2, false},
                                                        {"gpt", 2, false, true},
                                                        {"llama", 2, true},
                                                        {"llama", 2, true,
                                                         true},
                                                        {"gpt_scan", 4, true}}),
                         [](const auto& test) {
                           return std::string(test.param.model) +
                                  (test.param.is_large ? "_large" : "");
                         });

}  // namespace
}  // namespace meshwright
