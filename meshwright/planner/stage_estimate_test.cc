#include "meshwright/planner/stage_estimate.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "meshwright/base/is_long_for_test.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/planner/planner.h"
#include "meshwright/search/zoo_for_test.h"

namespace meshwright {
namespace {

struct EstimateCase {
  const char* model;
  const char* cluster;
  int32_t stages;
  double most;  // Times apart.
};

class EstimateTest : public testing::TestWithParam<EstimateCase> {};

// What candidates are compared by is about what their programs take.
TEST_P(EstimateTest, IsNearTheProgram) {
  const auto [model, spec, stages, most] = GetParam();
  const Module module = ReadTiny(model);
  const absl::StatusOr<Cluster> cluster =
      ParseClusterSpec(spec, {.cores = 2, .memory_bytes = int64_t{16} << 30});
  ASSERT_TRUE(cluster.ok()) << cluster.status();
  const PlanRequest request{.stages = stages, .time_limit_seconds = 3600};
  const absl::StatusOr<Plan> plan =
      MakePlan(module, *cluster, AssumedRates(*cluster), request);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const double ratio =
      plan->predicted.step_seconds / plan->predicted.search_seconds;
  EXPECT_LT(std::max(ratio, 1 / ratio), most) << ratio;
}

// With MW_LONG set other models, too.
std::vector<EstimateCase> EstimateCases() {
  std::vector<EstimateCase> cases = {{"gpt", "h200:8", 1, 1.15},
                                     {"moe", "h200:8", 4, 1.1},
                                     {"bert", "cpu:8", 4, 1.15},
                                     {"gpt_scan", "h200:64x8", 4, 1.1}};
  if (!IsLong()) return cases;
  cases.insert(cases.end(), {{"moe", "h200:2x8", 1, 1.15},
                             {"vit", "h200:8", 2, 1.1},
                             {"bert", "h200:2x8", 1, 1.15},
                             {"gpt", "h200:4x8", 4, 1.15},
                             {"llama", "h200:8", 4, 1.1}});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Table, EstimateTest,
                         testing::ValuesIn(EstimateCases()),
                         [](const auto& test) {
                           return std::string(test.param.model) + "_" +
                                  std::to_string(test.param.stages);
                         });

}  // namespace
}  // namespace meshwright
