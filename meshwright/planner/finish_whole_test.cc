#include "meshwright/planner/finish_whole.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/planner/meshes_to_try.h"
#include "meshwright/planner/plan_candidates.h"
#include "meshwright/planner/plan_log.h"
#include "meshwright/planner/planner.h"
#include "meshwright/search/zoo_for_test.h"

namespace meshwright {
namespace {

constexpr int64_t kLimit = 100;

struct Written {
  double seconds;
  double gap;
  int64_t peak_bytes = kLimit;
  std::string mesh = "data=2";
};
struct ChooseCase {
  std::string name;
  std::vector<Written> plans;
  size_t want;
};

class ChooseWrittenTest : public testing::TestWithParam<ChooseCase> {};

TEST_P(ChooseWrittenTest, TakesTheQuickestOrOneAsGoodWithABound) {
  std::vector<Plan> plans;
  for (const Written& written : GetParam().plans) {
    Plan plan(PlannedLayout{.mesh = *Mesh::Parse(written.mesh)});
    plan.predicted.step_seconds = written.seconds;
    plan.predicted.peak_bytes = written.peak_bytes;
    plan.gap = written.gap;
    plans.push_back(std::move(plan));
  }
  EXPECT_EQ(ChooseWritten(plans, kLimit, {}), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ChooseWrittenTest,
    testing::ValuesIn<ChooseCase>({
        {"TheQuickest", {{2, 0}, {1, 0.5}, {3, 0}}, 1},
        {"OneThatIsProvenAndHardlySlower", {{15.59, 0.047}, {15.61, 0.009}}, 1},
        {"NotOneThatIsSlower", {{15.59, 0.047}, {15.9, 0.009}}, 0},
        {"TheQuickestOfThoseThatAreProven", {{1.001, 0}, {1, 0.015}}, 1},
        {"NoneIsProvenSoTheNearestToItsBound", {{1, 0.3}, {1.005, 0.1}}, 1},
        {"OfEqualsTheOneWithTheBatchOutside",
         {{1, 0, kLimit, "model=4,data=2"},
          {1 + 1e-9, 0, kLimit, "data=2,model=4"}},
         1},
        {"OnlyWhatFits", {{1, 0, kLimit + 1}, {2, 0.5}}, 1},
        {"NothingFits", {{2, 0, kLimit + 1}, {1, 0.01, kLimit + 2}}, 1},
    }),
    [](const auto& test) { return test.param.name; });

PlanCandidate Candidate(std::shared_ptr<const StepVariant> variant,
                        double seconds, double estimate, double bound = 0) {
  const Setting setting =
      SettingOf(*variant, *Mesh::Parse("data=2"), Expert::kAuto);
  MeshPlan plan;
  plan.seconds = seconds;
  plan.time.seconds = estimate;
  plan.bound_seconds = bound;
  return {std::move(variant), setting, kLimit, {}, std::move(plan)};
}

std::shared_ptr<const StepVariant> VariantOf(Recompute recompute) {
  auto variant = std::make_shared<StepVariant>();
  variant->recompute = recompute;
  return variant;
}

TEST(PlanCandidate, HasNoBoundAboveItsCost) {
  const PlanCandidate one =
      Candidate(VariantOf(Recompute::kNone), 2, 2, /*bound=*/3);
  EXPECT_EQ(one.plan().bound_seconds, 2);
  EXPECT_EQ(one.gap(), 0);
  EXPECT_EQ(one.WithBound(1.5).gap(), 0.25);
  EXPECT_EQ(one.WithBound(5).gap(), 0);
  EXPECT_EQ(one.gap(), 0);
}

TEST(PlanCandidate, HasTheVariantOfItsSetting) {
  const auto variant = VariantOf(Recompute::kFull);
  const Setting other{.mesh = *Mesh::Parse("data=2"), .micro_batches = 4};
  EXPECT_DEATH(PlanCandidate(variant, other, kLimit, {}, {}), "count");
}

TEST(Promising, KeepsOneThatIsProven) {
  // Four are kept.
  const auto variant = VariantOf(Recompute::kNone);
  std::vector<PlanCandidate> found;
  for (const double seconds : {1.0, 1.001, 1.002, 1.003, 1.004}) {
    found.push_back(Candidate(variant, seconds, seconds));
  }
  found.push_back(Candidate(variant, 1.005, 1.005, /*bound=*/1.0));
  EXPECT_TRUE(HasProven(found, {}));
  found = Promising(found, /*kept=*/4, {});
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[4].plan().seconds, 1.005);
  found = Promising(found, /*kept=*/4, {});
  EXPECT_EQ(found.size(), 5u);
  found[4] = Candidate(variant, 1.005, 1.5, /*bound=*/1.0);
  EXPECT_FALSE(HasProven(found, {}));
  found = Promising(found, /*kept=*/4, {});
  EXPECT_EQ(found.size(), 4u);
}

TEST(Promising, KeepsOneOfEachRecomputation) {
  const auto none = VariantOf(Recompute::kNone);
  const auto light = VariantOf(Recompute::kSelective);
  std::vector<PlanCandidate> found;
  for (const double seconds : {1.0, 1.001, 1.002}) {
    found.push_back(Candidate(none, 0, seconds));
  }
  std::vector<PlanCandidate> far = found;
  for (const double seconds : {1.04, 1.041}) {
    found.push_back(Candidate(light, 0, seconds));
  }
  found = Promising(found, /*kept=*/2, {});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[2].seconds(), 1.04);
  for (int i = 0; i < 2; ++i) far.push_back(Candidate(light, 0, 1.06));
  far = Promising(far, /*kept=*/2, {});
  EXPECT_EQ(far.size(), 2u);
}

// When programs turn out not to fit, whatever the search aims at.
TEST(WholeSearch, TriesMoreMicroBatchesThanItFound) {
  const Module module = ReadTiny("gpt");
  const Cluster cluster = *ParseClusterSpec("h200:2", {});
  const Rates rates = AssumedRates(cluster);
  const PlanRequest request;
  const PlanTask task{module,     cluster,
                      rates,      request,
                      20'000'000, {.style = FusionStyleFor(cluster.IsCpu())}};
  const MeshSearch search(task);
  Variants variants(module, task.context);
  PlanLog log;
  WholeSearch whole(task, search, *MeshesToTry(cluster, request), variants,
                    log);
  EXPECT_EQ(whole.Try(), absl::OkStatus());
  ASSERT_FALSE(whole.found().empty());
  const int64_t first = whole.found()[0].variant().count;
  const Recompute recompute = whole.found()[0].variant().recompute;
  EXPECT_EQ(whole.TrySmaller(whole.found()[0].variant()), absl::OkStatus());
  ASSERT_FALSE(whole.found().empty());
  for (const PlanCandidate& found : whole.found()) {
    EXPECT_GT(found.variant().count, first);
    EXPECT_EQ(found.variant().recompute, recompute);
  }
}

bool HasThreeAxes(const Plan& plan) {
  return std::ranges::any_of(plan.alternatives, [](const Alternative& one) {
    return Mesh::Parse(one.mesh)->axes().size() == 3;
  });
}

// One of the first settings, and a note; a third axis and stages are not looked
// at.
TEST(FindPlan, EndsEarlyForAShortRun) {
  const Module module = ReadTiny("gpt");
  const Cluster cluster =
      ParseClusterSpec("cpu:8", {.cores = 2, .memory_bytes = int64_t{16} << 30})
          .value();
  const auto plan = [&](int64_t steps) {
    return MakePlan(module, cluster, AssumedRates(cluster),
                    {.time_limit_seconds = 3600, .steps = steps})
        .value();
  };
  const auto is_early = [](const Plan& made) {
    return !made.seconds.contains(kExperts) && !made.seconds.contains(kStages);
  };
  const Plan any = plan(1'000'000'000);
  EXPECT_FALSE(is_early(any));
  EXPECT_THAT(any.notes,
              testing::Not(testing::Contains(testing::HasSubstr("not tried"))));
  const Plan early = plan(10);
  EXPECT_TRUE(is_early(early));
  EXPECT_THAT(early.notes,
              testing::Contains(testing::StartsWith(
                  "experts' plans and pipelines were not tried: over 10 "
                  "steps of ")));
  EXPECT_TRUE(HasThreeAxes(any));
  EXPECT_FALSE(HasThreeAxes(early));
  // What it has is finished.
  EXPECT_LT(early.gap, 1);
  EXPECT_GE(early.predicted.step_seconds, any.predicted.step_seconds);
}

TEST(FindPlan, EndsWithWhatItHasWhenTheTimeIsOver) {
  const Module module = ReadTiny("gpt");
  const Cluster cluster = *ParseClusterSpec("h200:8", {});
  const absl::StatusOr<Plan> plan = MakePlan(
      module, cluster, AssumedRates(cluster), {.time_limit_seconds = 1e-6});
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_FALSE(plan->notes.empty());
  EXPECT_NE(plan->notes[0].find("time limit"), std::string::npos);
  for (const Alternative& one : plan->alternatives) EXPECT_EQ(one.stages, 1);
}

}  // namespace
}  // namespace meshwright
