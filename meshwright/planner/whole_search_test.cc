#include "meshwright/planner/whole_search.h"

#include "gtest/gtest.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/search/zoo_for_test.h"

namespace meshwright {
namespace {

class WholeSearchTest : public testing::Test {
 protected:
  struct Result {
    absl::Status last;
    std::vector<PlanCandidate> found;
    std::vector<SettingTime> times;
    size_t kept = 0;  // Of the effort.
    bool refused = false;
  };

  Result Try(const PlanRequest& request, int64_t memory_bytes,
             const SearchPolicy& policy = {}) {
    const PlanTask task{
        module_, cluster_,     rates_,
        request, memory_bytes, {.style = FusionStyleFor(cluster_.IsCpu())},
        {},      policy};
    const MeshSearch search(task);
    Variants variants(module_, task.context);
    PlanLog log;
    WholeSearch whole(task, search, *MeshesToTry(cluster_, request), variants,
                      log);
    Result result{.last = whole.Try()};
    result.found = whole.found();
    result.times = whole.times();
    if (!result.found.empty()) result.kept = whole.effort().kept;
    result.refused = whole.refused();
    return result;
  }

  const Module module_ = ReadTiny("gpt");
  const Cluster cluster_ = *ParseClusterSpec("h200:2", {});
  const Rates rates_ = AssumedRates(cluster_);
};

constexpr int64_t kEnough = int64_t{1} << 36;

TEST_F(WholeSearchTest, NoMicroBatchesWhereTheStepFits) {
  const Result result = Try({}, kEnough);
  ASSERT_FALSE(result.found.empty());
  for (const PlanCandidate& one : result.found) {
    EXPECT_EQ(one.setting().micro_batches, 1);
    EXPECT_EQ(one.setting().recompute, Recompute::kNone);
    EXPECT_EQ(one.setting().expert, Expert::kAuto);
    EXPECT_EQ(one.setting().stages, StageSetting());
  }
  EXPECT_EQ(result.times.size(), result.found.size());
  EXPECT_EQ(result.kept, SearchPolicy().small.kept);
}

TEST_F(WholeSearchTest, WhatWasRequestedAndNothingElse) {
  const Result result = Try({.expert = Expert::kDp,
                             .micro_batches = 2,
                             .recompute = Recompute::kFull},
                            kEnough);
  ASSERT_FALSE(result.found.empty());
  for (const PlanCandidate& one : result.found) {
    EXPECT_EQ(one.setting().micro_batches, 2);
    EXPECT_EQ(one.setting().recompute, Recompute::kFull);
    EXPECT_EQ(one.setting().expert, Expert::kDp);
  }
}

TEST_F(WholeSearchTest, TheEffortIsThePolicys) {
  const Result result = Try({.micro_batches = 1, .recompute = Recompute::kNone},
                            kEnough, {.small = kLargeStepEffort});
  EXPECT_EQ(result.kept, kLargeStepEffort.kept);
}

TEST_F(WholeSearchTest, FindsNothingWithoutMemory) {
  const Result result = Try({}, 1);
  EXPECT_TRUE(result.found.empty());
  EXPECT_FALSE(result.last.ok());
  EXPECT_FALSE(result.refused);
}

}  // namespace
}  // namespace meshwright
