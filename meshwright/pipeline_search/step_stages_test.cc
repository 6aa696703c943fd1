#include "meshwright/pipeline_search/step_stages.h"

#include <set>
#include <string>

#include "gtest/gtest.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/pipeline/stage_programs.h"
#include "meshwright/search/zoo_for_test.h"

namespace meshwright {
namespace {

PipelineStep ReadStep(const std::string& name, int64_t micro_batches) {
  const Module step = ReadTinyInline(name);
  auto parts = TakeApart(step, AnalyzeRoles(step), {.count = micro_batches});
  EXPECT_TRUE(parts.ok()) << parts.status();
  return *std::move(parts);
}

class StepStagesTest : public testing::TestWithParam<const char*> {};

// What is chosen can be cut, and is no worse than equal work in order.
TEST_P(StepStagesTest, CutsWhatItChooses) {
  const PipelineStep step = ReadStep(GetParam(), 4);
  for (const int32_t stages : {2, 4}) {
    const auto best = AssignStepStages(step, StageLimits::Even(stages, 0.1));
    ASSERT_TRUE(best.ok()) << best.status();
    EXPECT_LE(best->assignment.cost.balance,
              best->assignment.allowed_balance * (1 + 1e-9));
    EXPECT_LE(best->assignment.bytes_bound, best->assignment.cost.cut_bytes);
    const auto programs = MakeStagePrograms(
        step.split,
        {.stages = stages, .forward = best->forward, .state = step.state});
    ASSERT_TRUE(programs.ok()) << programs.status();
    std::set<int32_t> used;
    for (const StageProgram& program : programs->programs) {
      if (program.kind == StageProgram::Kind::kForward) {
        used.insert(program.stage);
      }
    }
    EXPECT_EQ(std::ssize(used), stages);
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, StepStagesTest,
                         testing::Values("gpt", "unet", "bert", "vit"),
                         [](const auto& test) { return test.param; });

TEST(StepStages, FixedStagesAndLayersHold) {
  const PipelineStep step = ReadStep("unet", 4);
  const StepGraph graph = MakeStepGraph(step);
  StepGraphOptions options;
  options.fixed.assign(step.micro_batch().entry()->size(), kAnyStage);
  options.layers.assign(step.micro_batch().entry()->size(), -1);
  const int32_t last = graph.instruction_of.back();
  const int32_t middle = graph.instruction_of[graph.graph.size() / 2];
  options.fixed[graph.instruction_of.front()] = StageId(0);
  options.layers[last] = options.layers[middle] = 7;
  const auto best = AssignStepStages(step, StageLimits::Even(2, 0.2), options);
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_EQ(best->forward[graph.instruction_of.front()], 0);
  EXPECT_EQ(best->forward[last], best->forward[middle]);
}

// Nobody reads the last, which is given to the step all the same.
constexpr char kUnread[] = R"(
HloModule unread, input_output_alias={ {0}: (0, {}, may-alias) }

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  w = f32[8,8]{1,0} parameter(0)
  x = f32[16,8]{1,0} parameter(1)
  unread = f32[16,4]{1,0} parameter(2)
  h = f32[16,8]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  y = f32[16,8]{1,0} tanh(h)
  zero = f32[] constant(0)
  loss = f32[] reduce(y, zero), dimensions={0,1}, to_apply=sum
  dw = f32[8,8]{1,0} dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  next = f32[8,8]{1,0} subtract(w, dw)
  ROOT out = (f32[8,8]{1,0}, f32[]) tuple(next, loss)
})";

TEST(StepStages, EveryParameterHasAHome) {
  const auto step = ReadModuleText(kUnread);
  ASSERT_TRUE(step.ok()) << step.status();
  const auto parts = TakeApart(*step, AnalyzeRoles(*step), {.count = 2});
  ASSERT_TRUE(parts.ok()) << parts.status();
  const auto best = AssignStepStages(*parts, StageLimits::Even(2, 1));
  ASSERT_TRUE(best.ok()) << best.status();
  const auto programs = MakeStagePrograms(
      parts->split,
      {.stages = 2, .forward = best->forward, .state = parts->state});
  ASSERT_TRUE(programs.ok()) << programs.status();
  EXPECT_EQ(programs->homes.size(), 3);
}

}  // namespace
}  // namespace meshwright
