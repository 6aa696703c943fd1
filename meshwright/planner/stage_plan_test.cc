#include "meshwright/planner/stage_plan.h"

#include <string>

#include "absl/strings/str_format.h"
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
  EXPECT_EQ(made->split.has_value() && made->split->has_split_loops, has_loops);
  for (const PlannedPipeline::Stage& stage : plan->pipeline->stages) {
    EXPECT_GT(stage.forward, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, StagePlanTest,
                         testing::ValuesIn<StagesCase>({{"gpt", 2, false},
                                                        {"llama", 2, true,
                                                         true},
                                                        {"gpt_scan", 4, true}}),
                         [](const auto& test) {
                           return std::string(test.param.model) +
                                  (test.param.is_large ? "_large" : "");
                         });

// Two hosts of the same speed, on which two stages share the work evenly if
// memory allows it.
Cluster WithMemory(double first_gib, double second_gib) {
  return *ParseCluster(absl::StrFormat(
      R"({"device": "h200", "hosts": [
          {"devices": 2, "device": {"kind": "h200", "memory_gib": %g}},
          {"devices": 2, "device": {"kind": "h200", "memory_gib": %g}}]})",
      first_gib, second_gib));
}

TEST(StagePlan, EveryStageHasTheMemoryOfItsDevices) {
  const Module module = ReadTiny("gpt");
  const auto plan_on = [&](const Cluster& cluster) {
    return MakePlan(module, cluster, AssumedRates(cluster),
                    {.micro_batches = 4,
                     .stages = 2,
                     .recompute = Recompute::kNone,
                     .time_limit_seconds = 3600});
  };
  const absl::StatusOr<Plan> even = plan_on(WithMemory(141, 141));
  ASSERT_TRUE(even.ok()) << even.status();
  const auto& roomy = even->pipeline->stages;
  // Less than the second stage takes.
  const double gib =
      0.6 * static_cast<double>(roomy[1].peak_bytes) / 0.92 / (1 << 30);
  const absl::StatusOr<Plan> uneven = plan_on(WithMemory(141, gib));
  ASSERT_TRUE(uneven.ok()) << uneven.status();
  const auto& stages = uneven->pipeline->stages;
  EXPECT_LE(stages[1].peak_bytes, uneven->memory_bytes);
  EXPECT_GT(stages[0].peak_bytes, uneven->memory_bytes);
  EXPECT_GT(stages[0].memory_times, 100);
  EXPECT_EQ(stages[1].memory_times, 1);
  EXPECT_LE(uneven->NeededBytes(), uneven->memory_bytes);
  EXPECT_LT(stages[1].forward, stages[0].forward);
  // With no more on the first host, it fits in another way or not at all.
  const absl::StatusOr<Plan> small = plan_on(WithMemory(gib, gib));
  EXPECT_TRUE(!small.ok() ||
              small->predicted.step_seconds >= uneven->predicted.step_seconds);
}

}  // namespace
}  // namespace meshwright
