// Steps whose layers are a loop: each stage has its layers, and only these.
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/pipeline_search/split_for_stages.h"
#include "meshwright/pipeline_search/step_stages.h"
#include "tests/partition/micro_batch_oracle.h"
#include "tests/partition/partition_oracle.h"
#include "tests/pipeline/value_of.h"

namespace meshwright {
namespace {

using ProgramKind = StageProgram::Kind;

// A step cut into stages; not run.
struct Loops {
  Loops(Module step, int64_t micro_batches, int32_t stages)
      : module(std::move(step)),
        split(*ValueOf(
            SplitLoopsForStages(module, AnalyzeRoles(module), stages))),
        staged(MakeStages(split.module, micro_batches, stages)) {}

  static StagedStep MakeStages(const Module& cut, int64_t micro_batches,
                               int32_t stages) {
    const PipelineStep step =
        ValueOf(TakeApart(cut, AnalyzeRoles(cut), {.count = micro_batches}));
    const StepStages best =
        ValueOf(AssignStepStages(step, StageLimits::Even(stages, 0.1)));
    return ValueOf(MakeStagePrograms(
        step.split,
        {.stages = stages, .forward = best.forward, .state = step.state}));
  }

  const Module& cut() const { return split.module; }

  Module module;
  SplitStep split;
  StagedStep staged;
};

// Bytes that the forward program of a stage leaves for its backward ones, of a
// micro-batch.
int64_t ResidualBytes(const StagedStep& step) {
  int64_t bytes = 0;
  for (const StageValue& value : step.values) {
    const StageProgram& from = step.programs[value.program];
    if (from.kind != ProgramKind::kForward) continue;
    for (const ProgramId user : value.users) {
      const StageProgram& to = step.programs[user];
      if (to.stage == from.stage && to.kind != ProgramKind::kForward) {
        bytes += ByteSize(value.shape);
        break;
      }
    }
  }
  return bytes;
}

class ScannedZooTest : public ::testing::TestWithParam<const char*> {};

// Weights, moments and gradients of layers never leave their stage.
TEST_P(ScannedZooTest, LayersStayWhereTheyAre) {
  const Loops loops(ValueOf(ReadZooModule(GetParam())), 4, 2);
  const ModuleRoles roles = AnalyzeRoles(loops.cut());
  std::vector<int> layers(2);
  for (const StatePair& pair : roles.state_pairs) {
    const std::string& name = roles.parameters[pair.parameter].name;
    if (!absl::StrContains(name, "blocks")) continue;
    const bool is_first = absl::EndsWith(name, "[0:1]");
    EXPECT_TRUE(is_first || absl::EndsWith(name, "[1:2]")) << name;
    EXPECT_EQ(loops.staged.homes[pair.parameter], is_first ? 0 : 1) << name;
    ++layers[is_first ? 0 : 1];
  }
  EXPECT_GT(layers[0], 20);
  EXPECT_EQ(layers[0], layers[1]);
  for (const StageProgram& program : loops.staged.programs) {
    for (const StageInput& input : program.inputs) {
      if (input.kind != StageInput::Kind::kParameter) continue;
      const std::string& name = roles.parameters[input.index].name;
      if (!absl::StrContains(name, "blocks")) continue;
      EXPECT_EQ(program.stage, loops.staged.homes[input.index])
          << name << " in " << program.Name();
    }
  }
}

// One activation forward, its cotangent back.
TEST_P(ScannedZooTest, StagesMeetInOneActivation) {
  const Loops loops(ValueOf(ReadZooModule(GetParam())), 4, 2);
  std::set<std::string> crossing;
  for (const StageValue& value : loops.staged.values) {
    const StageProgram& from = loops.staged.programs[value.program];
    if (from.kind == ProgramKind::kApply) continue;
    for (const ProgramId user : value.users) {
      if (loops.staged.programs[user].stage == from.stage) continue;
      crossing.insert(value.name);
      EXPECT_EQ(value.shape.dimensions.back(), 64) << value.name;
      EXPECT_EQ(ElementCount(value.shape) % (64 * 64), 0) << value.name;
    }
  }
  EXPECT_EQ(crossing.size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Zoo, ScannedZooTest,
                         ::testing::Values("gpt_scan_tiny", "llama_tiny"),
                         [](const auto& test) { return test.param; });

TEST(LoopPipelineTest, LoopsStayLoopsAndPartsAreUneven) {
  const Loops loops(ValueOf(ReadStep("scanned_layers")), 3, 3);
  int whiles = 0;
  for (const auto& instruction : loops.cut().entry()->instructions()) {
    whiles += instruction->opcode == Opcode::kWhile ? 1 : 0;
  }
  EXPECT_GE(whiles, 4);
  // 7 layers, and a head that is as heavy as one: stages of 8 / 3.
  EXPECT_THAT(loops.split.parameters[2].bounds,
              ::testing::ElementsAre(0, 2, 3, 5, 6, 7));
}

// Layers that the backward pass rematerialises leave their inputs behind, and
// no more, in loops and out of them.
TEST(LoopPipelineTest, RematerialisedLayersLeaveTheirInputs) {
  for (const int32_t stages : {2, 7}) {
    const Loops kept(ValueOf(ReadStep("scanned_layers")), 3, stages);
    for (const std::string name : {"scanned_remat", "scanned_checkpoint"}) {
      const Loops again(ValueOf(ReadStep(name)), 3, stages);
      EXPECT_LT(ResidualBytes(again.staged), ResidualBytes(kept.staged) * 3 / 4)
          << name << " in " << stages << " stages";
    }
  }
}

// What it sums up over all layers takes rounds, no layer moves.
TEST(LoopPipelineTest, TheNormOfAllLayersTakesScalars) {
  const Loops loops(ValueOf(ReadStep("scanned_layers")), 3, 2);
  for (const StageValue& value : loops.staged.values) {
    const StageProgram& from = loops.staged.programs[value.program];
    if (from.kind != ProgramKind::kApply) continue;
    for (const ProgramId user : value.users) {
      if (loops.staged.programs[user].stage == from.stage) continue;
      EXPECT_LE(ElementCount(value.shape), 7) << value.name;
    }
  }
}

}  // namespace
}  // namespace meshwright
