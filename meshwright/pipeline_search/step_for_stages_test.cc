#include "meshwright/pipeline_search/step_for_stages.h"

#include <map>
#include <set>

#include "gtest/gtest.h"
#include "meshwright/remat/forward_segments.h"
#include "meshwright/search/zoo_for_test.h"

namespace meshwright {
namespace {

TEST(StepForStagesTest, AStepWithoutLoopsStaysAsItIs) {
  const auto split = StepForStages(ReadTiny("gpt"), Recompute::kNone, 2);
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_FALSE(split->has_value());
}

TEST(StepForStagesTest, RecomputingHasTheTensorsOfTheStep) {
  const Module module = ReadTiny("gpt");
  const auto split = StepForStages(module, Recompute::kFull, 2);
  ASSERT_TRUE(split.ok()) << split.status();
  ASSERT_TRUE(split->has_value());
  EXPECT_FALSE((*split)->has_split_loops);
  EXPECT_EQ((*split)->parameters.size(), module.entry()->Parameters().size());
  EXPECT_EQ((*split)->parameters.back().first,
            std::ssize((*split)->parameters) - 1);
}

TEST(StepForStagesTest, LoopsAreCutAndRecompute) {
  const auto split = StepForStages(ReadTiny("llama"), Recompute::kFull, 2);
  ASSERT_TRUE(split.ok()) << split.status();
  ASSERT_TRUE(split->has_value());
  EXPECT_TRUE((*split)->has_split_loops);
}

TEST(StepForStagesTest, LoopsStayWholeForOneStage) {
  const auto split = StepForStages(ReadTiny("llama"), Recompute::kFull, 1);
  ASSERT_TRUE(split.ok()) << split.status();
  EXPECT_FALSE((*split)->has_split_loops);
}

// A segment that is rematerialised as one is on one stage, where a boundary of
// least bytes would go through it.
TEST(EvenStagesTest, SegmentsStayTogether) {
  const auto split = StepForStages(ReadTiny("gpt"), Recompute::kFull, 1);
  ASSERT_TRUE(split.ok()) << split.status();
  const Module& module = (*split)->module;
  const auto step = TakeApart(module, AnalyzeRoles(module), {.count = 4});
  ASSERT_TRUE(step.ok()) << step.status();
  const ForwardSegments segments = SegmentForward(module, AnalyzeRoles(module));
  const auto torn = [&](Recompute recompute) {
    const auto stages =
        EvenStages(module, *step, {.capacity = {1, 1, 1}}, recompute);
    EXPECT_TRUE(stages.ok()) << stages.status();
    std::map<std::string, StageId> stage_of;
    for (const auto& one : step->micro_batch().entry()->instructions()) {
      stage_of[one->name] = stages->forward[one->id];
    }
    std::map<int32_t, std::set<StageId>> by_segment;
    for (const auto& one : module.entry()->instructions()) {
      const int32_t segment = segments.segment_of[one->id];
      const auto stage = stage_of.find(one->name);
      if (segment < 0 || segment + 1 == segments.count ||
          stage == stage_of.end() || stage->second == kAnyStage) {
        continue;
      }
      by_segment[segment].insert(stage->second);
    }
    return std::ranges::count_if(by_segment, [](const auto& segment) {
      return segment.second.size() > 1;
    });
  };
  EXPECT_EQ(torn(Recompute::kFull), 0);
  EXPECT_GT(torn(Recompute::kNone), 0);
}

}  // namespace
}  // namespace meshwright
