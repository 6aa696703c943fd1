#include "meshwright/planner/stage_search.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/search/zoo_for_test.h"

namespace meshwright {
namespace {

using ::testing::Contains;
using ::testing::Each;

// The policies of the candidates, fastest first, besides a non-pipelined plan
// with this one.
std::vector<Recompute> PoliciesBeside(Recompute recompute) {
  const Module module = ReadTiny("bert");
  const Cluster cluster = *ParseClusterSpec("h200:4", {});
  const Rates rates = AssumedRates(cluster);
  const PlanRequest request{.stages = 2, .time_limit_seconds = 3600};
  const PlanTask task{
      module,  cluster,          rates,
      request, int64_t{1} << 36, {.style = FusionStyleFor(/*cpu=*/false)},
      {}};
  const MeshSearch search(task);
  std::map<Recompute, StepVariants> variants;
  Plan without({.mesh = *Mesh::Parse("data=4")});
  without.recompute = recompute;
  without.predicted.step_seconds = 1;
  const auto found =
      BestStages(task, search, &without, variants, [](const Alternative&) {});
  EXPECT_TRUE(found.ok()) << found.status();
  std::vector<Recompute> policies;
  for (const StageCandidate& one : *found) {
    policies.push_back(one.found.variant->recompute);
  }
  return policies;
}

TEST(BestStages, NeedNotRecomputeWhatAPlanWithoutStagesDoes) {
  const std::vector<Recompute> policies = PoliciesBeside(Recompute::kFull);
  // There is memory for all that is saved.
  EXPECT_EQ(policies.at(0), Recompute::kNone);
  EXPECT_THAT(policies, Contains(Recompute::kFull));
}

TEST(BestStages, DoNotRecomputeMore) {
  EXPECT_THAT(PoliciesBeside(Recompute::kNone), Each(Recompute::kNone));
}

}  // namespace
}  // namespace meshwright
