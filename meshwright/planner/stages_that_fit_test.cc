#include "meshwright/planner/stages_that_fit.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/planner/stage_search.h"
#include "meshwright/search/zoo_for_test.h"

namespace meshwright {
namespace {

struct Lowered {
  int candidates = 0;
  int written = 0;
  int left = 0;  // Said to be faster, but not lowered.
};

// Lowers candidates that are all estimated to take next to no time.
Lowered LowerAll(double seconds_left, double whole_seconds) {
  const Module module = ReadTiny("bert");
  const Cluster cluster = *ParseClusterSpec("h200:8", {});
  const Rates rates = AssumedRates(cluster);
  const PlanRequest request{.time_limit_seconds = 3600};
  const PlanTask task{
      module,  cluster,          rates,
      request, int64_t{1} << 36, {.style = FusionStyleFor(/*cpu=*/false)}};
  const MeshSearch search(task);
  Variants variants(module, task.context);
  Plan without(PlannedLayout{.mesh = *Mesh::Parse("data=4")});
  without.predicted.step_seconds = 1;
  auto staged =
      BestStages(task, search, &without, variants, [](const Alternative&) {});
  EXPECT_TRUE(staged.ok()) << staged.status();
  for (StageCandidate& one : *staged) one.seconds = 1e-9;
  Lowered lowered{.candidates = static_cast<int>(staged->size())};
  EXPECT_GT(lowered.candidates, 3);
  const auto plan =
      FinishBestFirst(task, search, seconds_left, whole_seconds, *staged,
                      [&](const StageCandidate&, const auto& written) {
                        lowered.written += written.ok() ? 1 : 0;
                      });
  EXPECT_TRUE(plan.ok()) << plan.status();
  lowered.left = static_cast<int>(staged->size());
  return lowered;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(FinishBestFirst, LowersAllThatMayBeFaster) {
  const Lowered lowered = LowerAll(3600, kInfinity);
  EXPECT_EQ(lowered.written, lowered.candidates);
  EXPECT_EQ(lowered.left, 0);
}

TEST(FinishBestFirst, NamesThoseForWhichThereIsNoTime) {
  const Lowered lowered = LowerAll(0, kInfinity);
  EXPECT_EQ(lowered.written, 1);
  EXPECT_EQ(lowered.left, lowered.candidates - 1);
}

TEST(FinishBestFirst, LowersNoneThatCannotBeatThePlanWithoutStages) {
  const Lowered lowered = LowerAll(3600, 1e-10);
  EXPECT_EQ(lowered.written, 1);
  EXPECT_EQ(lowered.left, 0);
}

// Ones that would have to be far quicker than estimated: only even stages might
// do, and some numbers of stages cannot be even.
TEST(FinishBestFirst, SearchesNoStagesThatCannotBeEvenEnough) {
  const Module module = ReadTiny("bert");
  const Cluster cluster = *ParseClusterSpec("h200:8", {});
  const Rates rates = AssumedRates(cluster);
  const PlanRequest request{.time_limit_seconds = 3600};
  const PlanTask task{
      module,  cluster,          rates,
      request, int64_t{1} << 36, {.style = FusionStyleFor(/*cpu=*/false)}};
  const MeshSearch search(task);
  Variants variants(module, task.context);
  const auto staged =
      BestStages(task, search, nullptr, variants, [](const Alternative&) {});
  ASSERT_TRUE(staged.ok()) << staged.status();
  int refused = 0;
  for (StageCandidate one : *staged) {
    one.seconds = 1000;
    const auto finish = [&](double whole_seconds) {
      std::vector<StageCandidate> alone = {one};
      return FinishBestFirst(task, search, 3600, whole_seconds, alone,
                             [](const auto&, const auto&) {});
    };
    const auto plan = finish(/*whole_seconds=*/1);
    if (plan.ok()) continue;
    EXPECT_EQ(plan.status().message(),
              absl::StrCat("no ", one.stages, " stages are even enough"));
    EXPECT_TRUE(finish(kInfinity).ok());
    ++refused;
    break;  // One is enough.
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace meshwright
