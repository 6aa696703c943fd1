#include "meshwright/planner/stages_that_fit.h"

#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/planner/stage_search.h"
#include "meshwright/search/zoo_for_test.h"

namespace meshwright {
namespace {

// The candidates of a step, and what they are lowered with.
struct Searched {
  const char* spec = "h200:4";
  const PlanRequest request{.recompute = Recompute::kNone,
                            .time_limit_seconds = 3600};
  const Module module = ReadTiny("bert");
  const Cluster cluster = *ParseClusterSpec(spec, {});
  const Rates rates = AssumedRates(cluster);
  const PlanTask task{
      module,  cluster,          rates,
      request, int64_t{1} << 36, {.style = FusionStyleFor(/*cpu=*/false)}};
  const MeshSearch search{task};
  Variants variants{module, task.context};
  const absl::StatusOr<std::vector<StageCandidate>> staged =
      BestStages(task, search, nullptr, variants, [](const Alternative&) {});
};

// Searched once: by far the most of what these tests take.
Searched& Candidates() {
  static Searched* const searched = new Searched();
  return *searched;
}

struct Lowered {
  int candidates = 0;
  int written = 0;
  int left = 0;  // Said to be faster, but not lowered.
};

// Lowers candidates that are all estimated to take next to no time.
Lowered LowerAll(double seconds_left, double whole_seconds) {
  const Searched& of = Candidates();
  EXPECT_TRUE(of.staged.ok()) << of.staged.status();
  std::vector<StageCandidate> staged = *of.staged;
  for (StageCandidate& one : staged) one.seconds = 1e-9;
  Lowered lowered{.candidates = static_cast<int>(staged.size())};
  EXPECT_GT(lowered.candidates, 2);
  const auto plan =
      FinishBestFirst(of.task, of.search, seconds_left, whole_seconds, staged,
                      [&](const StageCandidate&, const auto& written) {
                        lowered.written += written.ok() ? 1 : 0;
                      });
  EXPECT_TRUE(plan.ok()) << plan.status();
  lowered.left = static_cast<int>(staged.size());
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

// One that would have to be far quicker than estimated: only even stages might
// do, and this step's cannot be.
TEST(FinishBestFirst, SearchesNoStagesThatCannotBeEvenEnough) {
  const Searched of{.spec = "h200:8",
                    .request = {.stages = 8, .time_limit_seconds = 3600}};
  ASSERT_TRUE(of.staged.ok()) << of.staged.status();
  int refused = 0;
  for (StageCandidate one : *of.staged) {
    one.seconds = 1000;
    const auto finish = [&](double whole_seconds) {
      std::vector<StageCandidate> alone = {one};
      return FinishBestFirst(of.task, of.search, 3600, whole_seconds, alone,
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
