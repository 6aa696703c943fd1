#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/plan/plan.h"

namespace meshwright {
namespace {

using ::testing::HasSubstr;

PlannedLayout LayoutOn(const char* mesh) {
  PlannedLayout layout{.mesh = *Mesh::Parse(mesh)};
  Strategy split{.factor_axes = {layout.mesh.SubAxes(0), AxisList()}};
  Strategy whole{.factor_axes = {AxisList(), AxisList()}};
  layout.strategies = {split, split, whole, split};
  layout.moved_apart = {1, 3};
  layout.moved_in_place = {2};
  return layout;
}

Plan Made() {
  Plan plan(LayoutOn("data=2,model=2"));
  plan.module_name = "step";
  plan.fingerprint = 0x1234567890abcdef;
  plan.step_fingerprint = 0xfedcba0987654321;
  plan.cluster = "{}";
  plan.rates = "{}";
  plan.memory_bytes = 1 << 20;
  plan.micro_batches = 4;
  plan.recompute = "selective";
  plan.steering = {.forbidden = {"all-gather@data"},
                   .batch_axis = "data",
                   .pins = {{"parameter", "w", "[data, ?]"}}};
  plan.parameters = {
      {"w", {8, 4}, "f32", Sharding::Replicated({8, 4})},
  };
  plan.collectives = {{"all-reduce", "data", "g", 2, 64, 64, 3}};
  plan.predicted.step_seconds = 0.125;
  plan.predicted.origin = "assumed";
  plan.gap = 0.01;
  plan.alternatives = {{.mesh = "data=4", .seconds = 0.25, .why_not = "large"}};
  plan.notes = {"a line"};
  return plan;
}

void AddPipeline(Plan& plan) {
  plan.pipeline.emplace();
  plan.pipeline->ranks = 2;
  plan.pipeline->layout_of_rank = {0, 1};
  plan.pipeline->other_layouts = {LayoutOn("data=4")};
  plan.pipeline->schedule = "1f1b";
  plan.pipeline->timetable = "F0,W0\nF1,W1\n";
  plan.pipeline->forward = {0, 0, 1, -1};
  plan.pipeline->stages = {{.forward = 0.5, .peak_bytes = 7}, {.apply = 0.25}};
  plan.pipeline->edges = {{.from = 0, .to = 1, .forward_bytes = 9}};
}

TEST(PlanJsonTest, ReadsWhatItWrites) {
  for (const bool has_stages : {false, true}) {
    Plan plan = Made();
    if (has_stages) AddPipeline(plan);
    const std::string text = ToJson(plan);
    const absl::StatusOr<Plan> read = ParsePlan(text);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(ToJson(*read), text);
    EXPECT_EQ(read->strategies, plan.strategies);
    EXPECT_EQ(read->moved_apart, plan.moved_apart);
    EXPECT_EQ(read->step_fingerprint, plan.step_fingerprint);
    EXPECT_EQ(read->device_count(), has_stages ? 8 : 4);
    EXPECT_EQ(read->stages(), has_stages ? 2 : 1);
  }
}

TEST(PlanJsonTest, RefusesOtherFormats) {
  std::string text = ToJson(Made());
  const std::string now = "\"format\": 2";
  ASSERT_THAT(text, HasSubstr(now));
  text.replace(text.find(now), now.size(), "\"format\": 1");
  EXPECT_THAT(std::string(ParsePlan(text).status().message()),
              HasSubstr("a plan of format 1; this version reads 2"));
  EXPECT_THAT(std::string(ParsePlan("[]").status().message()),
              HasSubstr("this is no plan"));
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
