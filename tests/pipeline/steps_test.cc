// Small steps with what makes pipelines hard, on two stages.
#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/cost/price_list.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/pipeline_search/step_stages.h"
#include "meshwright/planner/predict_stages.h"
#include "meshwright/schedule/generate.h"
#include "tests/partition/micro_batch_oracle.h"
#include "tests/partition/partition_oracle.h"
#include "tests/pipeline/pipeline_oracle.h"
#include "tests/pipeline/value_of.h"

namespace meshwright {
namespace {

struct StepCase {
  const char* name;
  int64_t micro_batches;
  double tolerance = 2e-5;
  bool estimates = false;  // Statistics of the batch.
};

void PrintTo(const StepCase& test, std::ostream* out) { *out << test.name; }

class StepPipelineTest : public ::testing::TestWithParam<StepCase> {};

TEST_P(StepPipelineTest, EqualsOneDevice) {
  const StepCase& test = GetParam();
  const Module module = ValueOf(ReadStep(test.name));
  const auto oracle = ValueOf(PipelineOracle::Create(
      module, {.count = test.micro_batches, .allow_inexact = test.estimates},
      kStepsCompared, 2));
  const StagedStep staged = ValueOf(oracle->Staged());
  const auto runs = ValueOf(oracle->Run(
      staged, 2, "data=2", {ScheduleKind::kGPipe, ScheduleKind::kZeroBubble}));
  EXPECT_EQ(oracle->Compare(runs[0], test.tolerance), absl::OkStatus());
  EXPECT_TRUE(runs[0] == runs[1]) << "other bits";
}

INSTANTIATE_TEST_SUITE_P(
    Steps, StepPipelineTest,
    ::testing::Values(
        StepCase{"batch_norm", 3, 2e-5, true}, StepCase{"clipped", 3},
        StepCase{"digits", 2}, StepCase{"dropout", 3},
        StepCase{"frozen_weights", 3}, StepCase{"half_precision", 2, 1e-1},
        StepCase{"masked_mean", 4}, StepCase{"mean", 6}, StepCase{"metrics", 2},
        StepCase{"random_bits", 3}, StepCase{"running_mean", 3},
        StepCase{"scaled_rows", 2},
        StepCase{"scanned_batch_norm", 3, 2e-5, true},
        StepCase{"scanned_both_ways", 3}, StepCase{"scanned_checkpoint", 3},
        StepCase{"scanned_dropout", 3}, StepCase{"scanned_layers", 3},
        StepCase{"scanned_remat", 3}, StepCase{"schedule", 2},
        StepCase{"sequence_major", 3}, StepCase{"skipped_when_infinite", 2},
        StepCase{"softmax_weights", 2}, StepCase{"tied_embeddings", 3}),
    [](const auto& test) { return test.param.name; });

// What a stage holds at most, in micro-batches: all of them, or as many as
// there are stages from it to the last.
TEST(PeakMemoryTest, FollowsTheSchedule) {
  constexpr int64_t kMicroBatches = 6;
  const Module module = ValueOf(ReadStep("mean"));
  const auto oracle =
      ValueOf(PipelineOracle::Create(module, {.count = kMicroBatches},
                                     /*steps=*/1, 2));
  const StagedStep staged = ValueOf(oracle->Staged());
  std::vector<Simulation> runs;
  ValueOf(oracle->Run(staged, 2, "data=1",
                      {ScheduleKind::kGPipe, ScheduleKind::k1F1B}, &runs));
  for (const int rank : {0, 1}) {
    const int64_t gpipe = runs[0].peak_bytes[rank];
    EXPECT_GT(gpipe, 0);
    EXPECT_EQ(gpipe % kMicroBatches, 0);
    EXPECT_EQ(runs[1].peak_bytes[rank], gpipe / kMicroBatches * (2 - rank));
  }
}

// By any schedule a rank holds at most what the simulation of its timetable
// says, for which tests in schedule/ have the formulas.
TEST(PeakMemoryTest, IsThatOfTheSimulation) {
  constexpr int kMicroBatches = 6;
  const Module module = ValueOf(ReadStep("scanned_layers"));
  const auto oracle = ValueOf(
      PipelineOracle::Create(module, {.count = kMicroBatches}, /*steps=*/1, 4));
  const StagedStep staged = ValueOf(oracle->Staged());
  const Mesh mesh = *Mesh::Parse("data=1");
  const Cluster cluster = ValueOf(ParseClusterSpec("h200:4", {}));
  const Rates rates = AssumedRates(cluster);
  const struct {
    int ranks;
    std::vector<ScheduleKind> kinds;
  } cases[] = {
      {4,
       {ScheduleKind::kGPipe, ScheduleKind::k1F1B, ScheduleKind::kZeroBubble}},
      {2, {ScheduleKind::kInterleaved, ScheduleKind::kBreadthFirst}},
      {2, {ScheduleKind::kZeroBubbleV}}};
  for (const auto& [ranks, kinds] : cases) {
    std::vector<Simulation> runs;
    ValueOf(oracle->Run(staged, ranks, "data=1", kinds, &runs));
    PipelineCosts costs =
        PredictStages(staged,
                      ValueOf(LayOutStages(staged, std::vector<Mesh>(4, mesh))),
                      ranks, cluster, std::vector<Rates>(4, rates),
                      std::vector<Prices>(4, PricesFor(rates, cluster, mesh)))
            .costs;
    // What is on its way counts when it is used.
    for (StageEdge& edge : costs.edges) {
      edge.forward_bytes = edge.backward_bytes = 0;
    }
    for (size_t i = 0; i < kinds.size(); ++i) {
      const Timetable timetable = ValueOf(MakeTimetable(
          {.stages = 4, .ranks = ranks, .micro_batches = kMicroBatches},
          kinds[i]));
      EXPECT_THAT(runs[i].peak_bytes, ::testing::Each(::testing::Gt(0)));
      EXPECT_EQ(runs[i].peak_bytes,
                ValueOf(Simulate(timetable, costs)).peak_bytes)
          << ToString(kinds[i]);
    }
  }
}

TEST(StagedStepTest, TiedWeightsAreAccumulatedWhereTheyAreUsed) {
  const Module module = ValueOf(ReadZooModule("gpt_tiny"));
  const ModuleRoles roles = AnalyzeRoles(module);
  const PipelineStep step = ValueOf(TakeApart(module, roles, {.count = 4}));
  const std::vector<int64_t> table = {128, 64};
  const StepStages best =
      ValueOf(AssignStepStages(step, StageLimits::Even(2, 0.1)));
  const StagedStep staged = ValueOf(MakeStagePrograms(
      step.split, {.stages = 2, .forward = best.forward, .state = step.state}));
  int accumulators = 0;
  for (const StageAccumulator& accumulator : staged.accumulators) {
    accumulators += accumulator.shape.dimensions == table ? 1 : 0;
  }
  EXPECT_EQ(accumulators, 2);
  // In no micro-batch the table or its gradient moves.
  for (const StageValue& value : staged.values) {
    const StageProgram& from = staged.programs[value.program];
    if (from.kind == StageProgram::Kind::kApply) continue;  // Once, at the end.
    for (const ProgramId user : value.users) {
      if (staged.programs[user].stage == from.stage) continue;
      EXPECT_NE(value.shape.dimensions, table) << value.name;
    }
  }
}

TEST(StagedStepTest, TheNormOfAllGradientsTakesRounds) {
  const Module module = ValueOf(ReadStep("clipped"));
  const auto oracle =
      ValueOf(PipelineOracle::Create(module, {.count = 2}, /*steps=*/1, 2));
  const StagedStep staged = ValueOf(oracle->Staged());
  std::vector<std::string> applies;
  for (const StageProgram& program : staged.programs) {
    if (program.kind == StageProgram::Kind::kApply) {
      applies.push_back(program.Name());
    }
  }
  EXPECT_THAT(applies, ::testing::ElementsAre("A0.0", "A1.0", "A0.1", "A1.2"));
}

}  // namespace
}  // namespace meshwright
