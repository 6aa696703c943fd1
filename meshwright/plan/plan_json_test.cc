#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/plan/plan.h"

namespace meshwright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

PlannedLayout LayoutOn(const char* mesh) {
  PlannedLayout layout{.mesh = *Mesh::Parse(mesh)};
  Strategy split{.factor_axes = {layout.mesh.SubAxes(0), AxisList()}};
  Strategy whole{.factor_axes = {AxisList(), AxisList()}};
  layout.strategies = {{"x", split}, {"w", split}, {"y", whole}, {"z", split}};
  layout.moved_apart = {"w", "z:1"};
  layout.moved_in_place = {"y"};
  return layout;
}

Plan Made() {
  Plan plan(LayoutOn("data=2,model=2"));
  plan.module_name = "step";
  plan.fingerprint = 0x1234567890abcdef;
  plan.step_fingerprint = 0xfedcba0987654321;
  plan.strategy = Expert::kZero3;
  plan.cluster = *ParseClusterSpec("h200:8", {});
  plan.rates = AssumedRates(plan.cluster);
  plan.memory_bytes = 1 << 20;
  plan.micro_batches = 4;
  plan.recompute = Recompute::kSelective;
  plan.steering = {.forbidden = *ParseForbidden("all-gather@data"),
                   .batch_axis = "data",
                   .pins = {{PinKind::kParameter, "w", "[data, ?]"}}};
  plan.tensors.parameters = {
      {"w", {8, 4}, ElementType::kF32, Sharding::Replicated({8, 4})},
  };
  plan.collectives = {{Opcode::kAllReduce, "data", "g", 2, 64, 64, 3}};
  plan.predicted.step_seconds = 0.125;
  plan.predicted.origin = Origin::kCalibrated;
  plan.gap = 0.01;
  plan.alternatives = {{.mesh = "data=4", .seconds = 0.25, .why_not = "large"}};
  plan.notes = {"a line"};
  return plan;
}

void AddPipeline(Plan& plan) {
  plan.pipeline.emplace();
  plan.pipeline->layout_of_rank = {0, 1};
  plan.layouts.push_back(LayoutOn("data=4"));
  plan.pipeline->schedule = ScheduleKind::kZeroBubble;
  plan.pipeline->timetable = *ParseCsv("0F0,0B0\n1F0,1B0\n");
  plan.pipeline->forward = {{"x", "w"}, {"y"}};
  plan.pipeline->stages = {
      {.forward = 0.5, .peak_bytes = 7, .memory_times = 1.5}, {.apply = 0.25}};
  plan.pipeline->edges = {
      {.from = StageId(0), .to = StageId(1), .forward_bytes = 9}};
}

TEST(PlanJsonTest, ReadsWhatItWrites) {
  for (const bool has_stages : {false, true}) {
    Plan plan = Made();
    if (has_stages) AddPipeline(plan);
    const std::string text = ToJson(plan);
    const absl::StatusOr<Plan> read = ParsePlan(text);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(ToJson(*read), text);
    ASSERT_EQ(read->layouts.size(), plan.layouts.size());
    for (size_t i = 0; i < plan.layouts.size(); ++i) {
      EXPECT_EQ(read->layouts[i].mesh, plan.layouts[i].mesh);
      EXPECT_THAT(read->layouts[i].strategies,
                  UnorderedElementsAreArray(plan.layouts[i].strategies));
      EXPECT_EQ(read->layouts[i].moved_apart, plan.layouts[i].moved_apart);
      EXPECT_EQ(read->layouts[i].moved_in_place,
                plan.layouts[i].moved_in_place);
    }
    EXPECT_EQ(read->strategy, plan.strategy);
    EXPECT_EQ(read->recompute, plan.recompute);
    EXPECT_EQ(read->rates, plan.rates);
    EXPECT_EQ(read->steering.forbidden, plan.steering.forbidden);
    EXPECT_EQ(read->step_fingerprint, plan.step_fingerprint);
    EXPECT_EQ(read->device_count(), has_stages ? 8 : 4);
    EXPECT_EQ(read->stages(), has_stages ? 2 : 1);
    if (!has_stages) continue;
    EXPECT_EQ(read->pipeline->schedule, plan.pipeline->schedule);
    EXPECT_EQ(read->pipeline->forward, plan.pipeline->forward);
    EXPECT_EQ(read->pipeline->stages[0].memory_times, 1.5);
    EXPECT_EQ(read->pipeline->stages[1].memory_times, 1);
  }
}

TEST(PlanTest, StagesHaveTheMemoryOfTheirDevices) {
  Plan plan = Made();
  plan.predicted.peak_bytes = 8;
  EXPECT_EQ(plan.NeededBytes(), 8);
  AddPipeline(plan);
  EXPECT_EQ(plan.NeededBytes(), 5);  // 7 of 1.5 times as much.
  plan.pipeline->stages[1].peak_bytes = 6;
  EXPECT_EQ(plan.NeededBytes(), 6);
  EXPECT_THAT(plan.MemoryOfRanks(), ElementsAre(3 << 19, 1 << 20));
}

TEST(PlanTest, StagesOfARankShareWhatTheyWorkIn) {
  Plan plan = Made();
  AddPipeline(plan);
  plan.pipeline->stages = {{.fixed_bytes = 10, .room_bytes = 4},
                           {.fixed_bytes = 7},
                           {.fixed_bytes = 20, .room_bytes = 9},
                           {.fixed_bytes = 5, .room_bytes = 5}};
  // 6 + 11, and the larger of 4 and 9; 7 + 0, and 5.
  EXPECT_THAT(plan.FixedBytesOfRanks({0, 1, 0, 1}), ElementsAre(26, 12));
}

TEST(PlanJsonTest, RefusesOtherFormats) {
  std::string text = ToJson(Made());
  const std::string now = "\"format\": 4";
  ASSERT_THAT(text, HasSubstr(now));
  text.replace(text.find(now), now.size(), "\"format\": 1");
  EXPECT_THAT(std::string(ParsePlan(text).status().message()),
              HasSubstr("a plan of version 1; this is 4: plan again"));
  EXPECT_THAT(std::string(ParsePlan("[]").status().message()),
              HasSubstr("this is no plan"));
}

TEST(PlanJsonTest, RefusesWhatCannotBe) {
  struct Case {
    std::string from;
    std::string to;
    std::string why;
  };
  Plan plan = Made();
  AddPipeline(plan);
  const std::string text = ToJson(plan);
  for (const Case& one : std::vector<Case>{
           {"\"micro_batches\": 4", "\"micro_batches\": 0",
            "the plan has 0 micro-batches"},
           {"\"selective\"", "\"some\"", "some"},
           {"\"memory_times\": 1.5", "\"memory_times\": 0",
            "memory_times of a stage must be above 0, not 0"},
           {"\"zero3\"", "\"zero9\"", "zero9"},
           {"\"zero-bubble\",\n  \"timetable\"",
            "\"zero-bubbles\",\n  \"timetable\"", "zero-bubbles"},
           {"all-gather@data", "all-gather@rows", "rows"},
           {"\"mesh\": {\n    \"data\": 2", "\"mesh\": {\n    \"data\": 64",
            "its cluster 8"},
           {"\"mesh\": {\n  \"data\": 2", "\"mesh\": {\n  \"data\": 1",
            "not that of its first layout"}}) {
    std::string edited = text;
    ASSERT_THAT(edited, HasSubstr(one.from));
    edited.replace(edited.find(one.from), one.from.size(), one.to);
    const absl::StatusOr<Plan> read = ParsePlan(edited);
    ASSERT_FALSE(read.ok()) << one.to;
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(one.why));
  }
}

TEST(PlanJsonTest, SaysWhatIsMissing) {
  std::string text = ToJson(Made());
  const std::string key = "\"step_fingerprint\"";
  text.replace(text.find(key), key.size(), "\"step\"");
  EXPECT_THAT(std::string(ParsePlan(text).status().message()),
              HasSubstr("'step_fingerprint' not found"));
}

}  // namespace
}  // namespace meshwright
