#include "meshwright/planner/short_run.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/planner/planner.h"

namespace meshwright {
namespace {

constexpr double kWork = 300e6;

struct RunCase {
  std::string name;
  std::optional<int64_t> steps;
  double seconds;  // Of a step.
  double gap;
  Expert expert = Expert::kAuto;
  double want_work = kWork;
  bool want_more = true;  // Whether 100 ops more are worth looking at.
};

class ShortRunTest : public testing::TestWithParam<RunCase> {};

TEST_P(ShortRunTest, PlansNoLongerThanTheRunRepays) {
  const RunCase& given = GetParam();
  const Module module("step");
  const Cluster cluster = *ParseClusterSpec("h200:2", {});
  const Rates rates;
  const PlanRequest request = {.expert = given.expert, .steps = given.steps};
  const PlanTask task{module, cluster, rates, request, 0};
  auto variant = std::make_shared<StepVariant>();
  variant->count = 1;
  variant->model.graph.ops.resize(100);
  const PlanCandidate found(
      variant, SettingOf(*variant, *Mesh::Parse("data=2"), given.expert), 0, {},
      {.seconds = given.seconds,
       .bound_seconds = (1 - given.gap) * given.seconds});
  const int64_t work = WorkThatRepays(task, found, static_cast<int64_t>(kWork));
  EXPECT_NEAR(static_cast<double>(work), given.want_work, 1);
  EXPECT_EQ(MayRepay(task, *variant, given.seconds), given.want_more);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ShortRunTest,
    testing::ValuesIn<RunCase>({
        {"AnyLength", std::nullopt, 1e-6, 0.5},
        {"LongEnough", 1'000'000, 0.01, 0.01},
        {"ASecondOfGapIsASecondOfWork", 100, 0.1, 0.02, Expert::kAuto, 200e6},
        {"NothingLeftToProve", 1000, 1, 0, Expert::kAuto, 0},
        {"TenStepsOfAMillisecond", 10, 0.001, 0.1, Expert::kAuto, 1e6, false},
        {"AnExpertIsAskedFor", 10, 0.001, 0.1, Expert::kDp},
    }),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace meshwright
