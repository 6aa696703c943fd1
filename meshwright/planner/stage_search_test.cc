#include "meshwright/planner/stage_search.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/cost/host_for_test.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/planner/stages_that_fit.h"
#include "meshwright/search/zoo_for_test.h"

namespace meshwright {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class StageSearchTest : public testing::Test {
 protected:
  absl::StatusOr<std::vector<StageCandidate>> Search(
      PlanRequest request, const SearchPolicy& policy = {}) {
    request.recompute = Recompute::kNone;
    request.time_limit_seconds = 3600;
    const PlanTask task{module_,
                        cluster_,
                        rates_,
                        request,
                        int64_t{1} << 36,
                        {.style = FusionStyleFor(cluster_.IsCpu())},
                        {},
                        policy};
    const MeshSearch search(task);
    Variants variants(module_, task.context);
    return BestStages(task, search, nullptr, variants,
                      [](const Alternative&) {});
  }

  const Module module_ = ReadTiny("gpt");
  const Cluster cluster_ = *ParseClusterSpec("h200:4", {});
  const Rates rates_ = AssumedRates(cluster_);
};

TEST_F(StageSearchTest, RefusesWhatIsImpossible) {
  const absl::Status one = Search({.micro_batches = 1, .stages = 2}).status();
  EXPECT_EQ(one.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(one.message()), HasSubstr("--micro-batches 1"));
  const absl::Status five = Search({.stages = 5}).status();
  EXPECT_EQ(five.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(five.message()), HasSubstr("by 5 stages"));
  const absl::Status six =
      Search({.stages = 6, .schedule = ScheduleKind::kInterleaved}).status();
  EXPECT_EQ(six.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(six.message()),
              AllOf(HasSubstr("by 3 ranks;"), Not(HasSubstr("interleaved"))));
}

TEST_F(StageSearchTest, TheFirstRanksGetTheDevicesLeftOver) {
  const auto staged = Search({.stages = 3});
  ASSERT_TRUE(staged.ok()) << staged.status();
  ASSERT_EQ(staged->size(), 1u);
  const StageCandidate& one = staged->front();
  EXPECT_EQ(one.first().setting().stages,
            (StageSetting{.count = 3, .ranks = 3, .doubled = 1}));
  EXPECT_THAT(one.layout_of_rank, ElementsAre(1, 0, 0));
  EXPECT_EQ(one.first().setting().mesh.device_count(), 1);
  ASSERT_EQ(one.layouts.size(), 2u);
  EXPECT_EQ(one.layouts[1].setting().mesh.device_count(), 2);
  EXPECT_TRUE(one.layouts[1].setting().stages.is_doubled);
}

TEST_F(StageSearchTest, OneCandidateOfEachStageCount) {
  const auto staged = Search({});
  ASSERT_TRUE(staged.ok()) << staged.status();
  std::set<int32_t> ranks;
  double least = staged->front().seconds;
  for (const StageCandidate& one : *staged) {
    EXPECT_TRUE(ranks.insert(one.ranks()).second) << one.ranks();
    EXPECT_GT(one.seconds, 0);
    EXPECT_EQ(one.first().setting().stages.ranks, one.ranks());
    EXPECT_EQ(one.first().setting().micro_batches, one.first().variant().count);
    least = std::min(least, one.seconds);
  }
  EXPECT_EQ(QuickestSeconds(*staged), least);
}

TEST_F(StageSearchTest, KeepsToThePolicy) {
  SearchPolicy policy;
  policy.stages.most = 2;
  policy.small.unequal_stages = 0;
  const auto few = Search({}, policy);
  ASSERT_TRUE(few.ok()) << few.status();
  for (const StageCandidate& one : *few) EXPECT_EQ(one.stages, 2);
  const auto count_of = [&](int64_t fewest) {
    policy.stages.fewest_micro_batches = fewest;
    policy.stages.few_bubbles = 1;  // However many there are.
    const auto found = Search({.stages = 2}, policy);
    EXPECT_TRUE(found.ok()) << found.status();
    return found->front().first().variant().count;
  };
  const int64_t one = count_of(1);
  EXPECT_GE(one, 2);
  EXPECT_LT(one, count_of(4));
}

// The policies of the candidates, fastest first, besides a non-pipelined plan
// with this one.
std::vector<Recompute> PoliciesBeside(Recompute recompute) {
  const Module module = ReadTiny("bert");
  const Cluster cluster = *ParseClusterSpec("h200:4", {});
  const Rates rates = WithFreeHost(AssumedRates(cluster));
  const PlanRequest request{
      .micro_batches = 4, .stages = 2, .time_limit_seconds = 3600};
  const PlanTask task{
      module,  cluster,          rates,
      request, int64_t{1} << 36, {.style = FusionStyleFor(/*cpu=*/false)}};
  const MeshSearch search(task);
  Variants variants(module, task.context);
  Plan without(PlannedLayout{.mesh = *Mesh::Parse("data=4")});
  without.recompute = recompute;
  without.predicted.step_seconds = 1;
  const auto found =
      BestStages(task, search, &without, variants, [](const Alternative&) {});
  EXPECT_TRUE(found.ok()) << found.status();
  std::vector<Recompute> policies;
  std::vector<StageCandidate> staged = *found;
  std::ranges::sort(staged, {}, &StageCandidate::seconds);
  for (const StageCandidate& one : staged) {
    policies.push_back(one.first().variant().recompute);
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
