#include "meshwright/planner/expert_plans.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "meshwright/base/is_long_for_test.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/planner/find_plan.h"
#include "meshwright/search/zoo_for_test.h"

namespace meshwright {
namespace {

struct ExpertsCase {
  const char* model;
  const char* cluster;
  double memory_share = 0;  // Of what the plan takes with any; 0: any.
  bool is_large = false;    // As steps of many layers are planned.
};

class UseExpertsTest : public testing::TestWithParam<ExpertsCase> {};

TEST_P(UseExpertsTest, NoExpertIsPredictedQuicker) {
  const auto [model, text, memory_share, is_large] = GetParam();
  const Module module = ReadTiny(model);
  const absl::StatusOr<Cluster> cluster =
      ParseClusterSpec(text, {.cores = 2, .memory_bytes = int64_t{16} << 30});
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  const Rates rates = AssumedRates(*cluster);
  PlanRequest request;
  request.time_limit_seconds = 3600;  // However busy the machine is.
  SearchPolicy policy;
  if (is_large) policy.small = kLargeStepEffort;
  const auto make = [&]() -> absl::StatusOr<Plan> {
    absl::StatusOr<PlanChoice> choice =
        MakePlanIn(module, *cluster, rates, request, {}, policy);
    if (!choice.ok()) return choice.status();
    return std::move(choice->plan);
  };
  absl::StatusOr<Plan> plan = make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  if (memory_share > 0) {
    request.memory_bytes = static_cast<int64_t>(
        memory_share * static_cast<double>(plan->predicted.peak_bytes));
    plan = make();
    ASSERT_TRUE(plan.ok()) << plan.status();
  }
  EXPECT_EQ(plan->strategy, Expert::kAuto);
  EXPECT_GE(plan->gap, 0);
  EXPECT_LT(plan->gap, 1) << "no bound";
  for (const Expert expert : {Expert::kDp, Expert::kZero2, Expert::kZero3,
                              Expert::kMegatron, Expert::kSequence}) {
    request.expert = expert;
    const absl::StatusOr<Plan> other = make();
    if (!other.ok()) continue;  // It does not fit.
    EXPECT_LE(plan->predicted.step_seconds,
              1.001 * other->predicted.step_seconds)
        << Name(expert) << " on " << other->mesh().ToString() << " in "
        << other->micro_batches << ", ours on " << plan->mesh().ToString()
        << " in " << plan->micro_batches;
  }
}

// Every kind of case; with MW_LONG set more models of each.
std::vector<ExpertsCase> Cases() {
  std::vector<ExpertsCase> cases = {{"moe", "cpu:4"},
                                    {"vit", "cpu:4"},
                                    {"bert", "h200:4"},
                                    {"gpt", "cpu:2", 0.8},
                                    {"gpt", "h200:8", 0, true}};
  if (!IsLong()) return cases;
  cases.insert(cases.end(), {{"moe", "cpu:8"},
                             {"bert", "h200:8"},
                             {"gpt", "cpu:4", 0.8},
                             {"moe", "h200:4", 0.7, true},
                             {"llama", "cpu:8"},
                             {"vit", "cpu:8"},
                             {"bert", "cpu:8", 0.8},
                             {"moe", "h200:8", 0.7, true},
                             {"gpt", "h200:8", 0.6},
                             {"vit", "h200:2x4", 0.5},
                             {"llama", "h200:2x8", 0.8},
                             {"unet", "h200:2x8"},
                             {"gpt", "h200:2x4", 0.8, true},
                             {"llama", "h200:2x8", 0.8, true}});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Table, UseExpertsTest, testing::ValuesIn(Cases()),
                         [](const auto& test) {
                           std::string name =
                               std::string(test.param.model) + "_" +
                               test.param.cluster +
                               (test.param.memory_share > 0 ? "_tight" : "") +
                               (test.param.is_large ? "_large" : "");
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

}  // namespace
}  // namespace meshwright
