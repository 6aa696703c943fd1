// Plans with stages, as the planner makes them, against one device.
//
// With MW_LONG set every model that has micro-batches; otherwise a few.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/base/is_long_for_test.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/pipeline_search/pipeline_step.h"
#include "meshwright/pipeline_search/split_for_stages.h"
#include "meshwright/pipeline_search/step_stages.h"
#include "meshwright/planner/planner.h"
#include "meshwright/runtime/local_runner.h"
#include "meshwright/runtime/pipeline_runner.h"
#include "tests/partition/partition_oracle.h"
#include "tests/pipeline/value_of.h"

namespace meshwright {
namespace {

constexpr double kTolerance = 2e-5;

std::vector<Tensor> OutputsAfter(Runner& runner) {
  EXPECT_EQ(runner.FillSynthetic(/*seed=*/0), absl::OkStatus());
  for (int step = 0; step < kStepsCompared; ++step) {
    EXPECT_EQ(runner.Step().status(), absl::OkStatus());
  }
  return ValueOf(runner.ReadOutputs());
}

void ExpectEqual(const std::vector<Tensor>& got,
                 const std::vector<Tensor>& want) {
  ASSERT_EQ(got.size(), want.size());
  const Mesh one = *Mesh::Parse("1");
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(CompareScaled(AsLiteral(got[i]), AsLiteral(want[i]),
                            Sharding::Replicated(want[i].dimensions), one, 0,
                            kTolerance)
                  .status(),
              absl::OkStatus())
        << want[i].name;
  }
}

// A cluster and what it achieves: `slower` times less in computing, so that a
// tiny step is worth to be split.
struct Hardware {
  explicit Hardware(const std::string& spec, double slower = 1,
                    double outer_gbps = 0)
      : cluster(ValueOf(ParseClusterSpec(
            spec, {.cores = 2, .memory_bytes = int64_t{16} << 30}))) {
    if (outer_gbps > 0) cluster.levels.back().gbps = outer_gbps;
    rates = AssumedRates(cluster);
    for (auto& [type, curve] : rates.matmul) Slow(curve, slower);
    Slow(rates.memory, slower);
    rates.vector_flops.value /= slower;
    rates.transcendentals.value /= slower;
  }

  static void Slow(Curve& curve, double times) {
    for (Curve::Point& point : curve.points) point.value /= times;
  }

  Cluster cluster;
  Rates rates;
};

struct PlannedCase {
  const char* model;
  int32_t stages;
  const char* mesh;  // Of a stage; empty: any.
  int64_t micro_batches;
  ScheduleKind schedule;
  Recompute recompute = Recompute::kNone;
};

class PlannedStagesTest : public ::testing::TestWithParam<PlannedCase> {};

// Runs the plan, as a user has it: through the file.
void ExpectEqualsOneDevice(const Module& module, const Plan& plan) {
  const PlannedStages stages =
      ValueOf(StagePlan(module, ValueOf(ParsePlan(ToJson(plan)))));
  const auto client = ValueOf(OracleClient());
  const SplitStep* const loops =
      stages.split.has_value() ? &*stages.split : nullptr;
  const Module& cut = loops != nullptr ? loops->module : module;
  PipelineRunner staged(
      &module, loops,
      ValueOf(MakeLocalRunner(
          cut,
          ValueOf(MakeJob(cut, stages.step, stages.layout, stages.timetable)),
          client)));
  const auto whole = ValueOf(MakeLocalRunner(module, client));
  ExpectEqual(OutputsAfter(staged), OutputsAfter(*whole));
}

TEST_P(PlannedStagesTest, EqualOneDevice) {
  const PlannedCase& test = GetParam();
  const Module module = ValueOf(ReadZooModule(test.model));
  const Hardware machine("cpu:8");
  PlanRequest request{.micro_batches = test.micro_batches,
                      .stages = test.stages,
                      .schedule = test.schedule,
                      .recompute = test.recompute};
  if (*test.mesh != 0) request.mesh = *Mesh::Parse(test.mesh);
  const Plan plan =
      ValueOf(MakePlan(module, machine.cluster, machine.rates, request));
  ASSERT_EQ(plan.stages(), test.stages);
  ExpectEqualsOneDevice(module, plan);
}

std::vector<PlannedCase> PlannedCases() {
  std::vector<PlannedCase> cases = {
      {"gpt_tiny", 2, "data=2,model=2", 4, ScheduleKind::kAuto},
      {"vit_tiny", 4, "", 4, ScheduleKind::kZeroBubbleV},
      {"bert_tiny", 2, "model=2", 4, ScheduleKind::k1F1B, Recompute::kFull},
      // Twice as many devices for the first of them.
      {"gpt_tiny", 3, "", 4, ScheduleKind::kAuto}};
  if (!IsLong()) return cases;
  for (const char* model : {"gpt_tiny", "bert_tiny", "llama_tiny", "unet_tiny",
                            "vit_tiny", "gpt_scan_tiny"}) {
    for (const char* mesh : {"data=2", "data=2,model=2", "model=4"}) {
      cases.push_back({model, 2, mesh, 4, ScheduleKind::kAuto});
    }
    cases.push_back({model, 3, "", 4, ScheduleKind::k1F1B});
    cases.push_back({model, 4, "data=2", 8, ScheduleKind::kInterleaved});
    cases.push_back({model, 4, "model=2", 8, ScheduleKind::kZeroBubble});
  }
  for (const char* model : {"gpt_tiny", "vit_tiny", "unet_tiny", "moe_tiny"}) {
    for (const Recompute recompute :
         {Recompute::kSelective, Recompute::kFull}) {
      cases.push_back({model, 2, "data=2", 4, ScheduleKind::kAuto, recompute});
      cases.push_back({model, 4, "", 4, ScheduleKind::k1F1B, recompute});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Zoo, PlannedStagesTest,
                         ::testing::ValuesIn(PlannedCases()),
                         [](const auto& test) {
                           return absl::StrCat(test.param.model, "_",
                                               test.param.stages, "_",
                                               test.index);
                         });

// Ranks may be laid out each in its own way: here of two plans.
TEST(StagedPlanTest, RanksHaveTheirLayouts) {
  const Module module = ValueOf(ReadZooModule("gpt_tiny"));
  const Hardware machine("cpu:8");
  PlanRequest request{.micro_batches = 4, .stages = 2};
  request.mesh = *Mesh::Parse("data=4");
  Plan plan =
      ValueOf(MakePlan(module, machine.cluster, machine.rates, request));
  request.mesh = *Mesh::Parse("data=2,model=2");
  const Plan other =
      ValueOf(MakePlan(module, machine.cluster, machine.rates, request));
  plan.layouts.push_back(other.layouts[0]);
  plan.pipeline->layout_of_rank = {0, 1};
  EXPECT_EQ(plan.device_count(), 8);
  EXPECT_THAT(StagePlan(module, plan).status().message(),
              ::testing::HasSubstr("or it was edited; plan again"));
  ASSERT_TRUE(ListAnew(module, plan).ok());
  ExpectEqualsOneDevice(module, plan);

  nlohmann::json edited = nlohmann::json::parse(ToJson(plan));
  edited["pipeline"]["layout_of_rank"] = {0, 2};
  EXPECT_THAT(ParsePlan(edited.dump()).status().message(),
              ::testing::HasSubstr("a rank has layout 2 of 2"));
}

double StageSeconds(const Plan& plan, int stage) {
  const PlannedPipeline::Stage& one = plan.pipeline->stages[stage];
  return one.forward + one.input_grad + one.weight_grad;
}

// Of 8 devices the first of 3 stages has 4, and about half of the work.
TEST(StagedPlanTest, MoreDevicesDoMore) {
  const Module module = ValueOf(ReadZooModule("gpt_tiny"));
  const Hardware machine("h200:8", /*slower=*/1e6);
  const Plan plan = ValueOf(MakePlan(module, machine.cluster, machine.rates,
                                     {.micro_batches = 4, .stages = 3}));
  ASSERT_EQ(plan.layouts.size(), 2u);
  EXPECT_EQ(plan.device_count(), 8);
  EXPECT_EQ(plan.LayoutOf(0).mesh.device_count(), 4);
  EXPECT_EQ(plan.LayoutOf(1).mesh.device_count(), 2);
  EXPECT_NEAR(StageSeconds(plan, 0) / StageSeconds(plan, 1), 1, 0.35);
  EXPECT_NEAR(StageSeconds(plan, 2) / StageSeconds(plan, 1), 1, 0.35);
}

// Stages are balanced in time: of this step, layers of many pixels take longer
// for the same flops.
TEST(StagedPlanTest, StagesTakeEquallyLong) {
  const Module module = ValueOf(ReadZooModule("unet_tiny"));
  const Hardware machine("h200:4", /*slower=*/1e3);
  const Plan plan = ValueOf(MakePlan(
      module, machine.cluster, machine.rates,
      {.micro_batches = 4, .stages = 2, .recompute = Recompute::kNone}));
  EXPECT_NEAR(StageSeconds(plan, 0) / StageSeconds(plan, 1), 1, 0.25);
}

TEST(StagedPlanTest, SomeNumbersOfDevicesCannotBeShared) {
  const Module module = ValueOf(ReadZooModule("gpt_tiny"));
  const Hardware machine("h200:11");
  EXPECT_THAT(MakePlan(module, machine.cluster, machine.rates, {.stages = 4})
                  .status()
                  .message(),
              ::testing::HasSubstr("11 devices cannot be shared by 4 stages"));
}

// On one host the links are quick and the batch large: nothing to gain. On
// hosts that are joined by a thread, weights that fit on no host must not
// travel.
TEST(StageChoiceTest, StagesWinWhereTheyShould) {
  const Module module = ValueOf(ReadZooModule("gpt_tiny"));
  constexpr double kSlower = 1e6;
  const Hardware host("h200:8", kSlower);
  EXPECT_EQ(ValueOf(MakePlan(module, host.cluster, host.rates, {})).stages(),
            1);
  const Hardware thin("h200:4x1", kSlower, /*outer_gbps=*/3e-4);
  const Plan plan = ValueOf(MakePlan(module, thin.cluster, thin.rates, {}));
  EXPECT_GT(plan.stages(), 1);
  EXPECT_EQ(plan.device_count(), 4);
  EXPECT_LE(plan.predicted.peak_bytes, plan.memory_bytes);
  const Plan whole =
      ValueOf(MakePlan(module, thin.cluster, thin.rates, {.stages = 1}));
  EXPECT_LT(plan.predicted.step_seconds, whole.predicted.step_seconds);
}

// Stages with rematerialisation hold less from forward to backward; where
// memory is short, that is what is chosen.
TEST(StageChoiceTest, StagesRematerialise) {
  const Module module = ValueOf(ReadZooModule("bert_tiny"));
  const Hardware machine("cpu:2");
  PlanRequest request{.micro_batches = 8,
                      .stages = 2,
                      .schedule = ScheduleKind::kGPipe,
                      .recompute = Recompute::kNone};
  const auto plan = [&] {
    return ValueOf(MakePlan(module, machine.cluster, machine.rates, request));
  };
  const Plan kept = plan();
  request.recompute = Recompute::kFull;
  const Plan again = plan();
  EXPECT_EQ(again.recompute, Recompute::kFull);
  for (StageId stage{0}; stage < 2; ++stage) {
    EXPECT_LT(again.pipeline->stages[stage].held_bytes,
              kept.pipeline->stages[stage].held_bytes / 2)
        << stage;
  }
  EXPECT_LT(again.predicted.peak_bytes, kept.predicted.peak_bytes);
  EXPECT_GT(again.predicted.step_seconds, kept.predicted.step_seconds);
  request.recompute.reset();
  request.memory_bytes =
      (again.predicted.peak_bytes + kept.predicted.peak_bytes) / 2;
  const Plan chosen = plan();
  EXPECT_NE(chosen.recompute, Recompute::kNone);
  EXPECT_LE(chosen.predicted.peak_bytes, *request.memory_bytes);
}

// Where kernels cost little to start, as many micro-batches as pay: one more
// doubling where all bubbles stay, none where weights' gradients fill them.
TEST(StageChoiceTest, MicroBatchesAreAsManyAsPay) {
  const Module module = ValueOf(ReadZooModule("gpt_tiny"));
  const Hardware machine("h200:2", /*slower=*/1e6);
  for (const auto& [schedule, count] :
       {std::pair(ScheduleKind::k1F1B, 16), {ScheduleKind::kAuto, 8}}) {
    PlanRequest request{.stages = 2, .schedule = schedule};
    const Plan chosen =
        ValueOf(MakePlan(module, machine.cluster, machine.rates, request));
    EXPECT_EQ(chosen.micro_batches, count);
    for (const int64_t other : {8, 16}) {
      if (other == count) continue;
      request.micro_batches = other;
      EXPECT_LE(
          chosen.predicted.step_seconds,
          ValueOf(MakePlan(module, machine.cluster, machine.rates, request))
              .predicted.step_seconds);
    }
  }
}

// Gradients are summed over the devices of a stage once in a step, not in every
// micro-batch.
TEST(StageChoiceTest, GradientsAreReducedOnce) {
  const Module module = ValueOf(ReadZooModule("gpt_tiny"));
  const Hardware machine("h200:8x1", /*slower=*/5e5, /*outer_gbps=*/1e-3);
  const Plan plan = ValueOf(MakePlan(module, machine.cluster, machine.rates,
                                     {.expert = Expert::kDp,
                                      .mesh = *Mesh::Parse("data=4"),
                                      .micro_batches = 4,
                                      .stages = 2}));
  const PlannedStages stages = ValueOf(StagePlan(module, plan));
  int pending = 0;
  for (const auto& [key, sharding] : stages.layout.accumulators) {
    pending += sharding.IsPending() ? 1 : 0;
  }
  EXPECT_GT(pending, 10);
  for (size_t i = 0; i < stages.step.programs.size(); ++i) {
    if (stages.step.programs[i].kind != StageProgram::Kind::kWeight) continue;
    for (const Collective& one : stages.layout.programs[i].collectives) {
      ADD_FAILURE() << one.kind << " for " << one.tensor << " in "
                    << stages.step.programs[i].Name();
    }
  }
}

// What was found for an op of the step is what it does in a stage: it is known
// again, but for what stages add (sums of their own, a copy).
TEST(StageChoiceTest, OpsOfStagesAreFoundAgain) {
  const Module module = ValueOf(ReadZooModule("llama_tiny"));
  const SplitStep loops =
      *ValueOf(SplitLoopsForStages(module, AnalyzeRoles(module), /*stages=*/2));
  const Mesh mesh = *Mesh::Parse("data=2");
  const PlannedStep looped = ValueOf(
      PlannedStep::Of(loops.module, 4, Recompute::kNone, /*row_blocks=*/1));
  const FlatGraph graph = Flatten(looped.module());
  Assignment assignment{.rules = RulesOf(graph)};
  for (const Rule& rule : assignment.rules) {
    assignment.strategies.push_back(ReplicatedStrategy(rule));
  }
  const StageStrategies strategies(graph, assignment, mesh);
  const PipelineStep step = ValueOf(
      TakeApart(loops.module, AnalyzeRoles(loops.module), {.count = 4}));
  const StepStages best =
      ValueOf(AssignStepStages(step, StageLimits::Even(2, 0.1)));
  const StagedStep staged = ValueOf(MakeStagePrograms(
      step.split, {.stages = 2, .forward = best.forward, .state = step.state}));
  int ops = 0;
  int unknown = 0;
  for (const StageProgram& program : staged.programs) {
    const FlatGraph parts = Flatten(program.module);
    const std::vector<Rule> rules = RulesOf(parts);
    for (size_t i = 0; i < parts.ops.size(); ++i) {
      const FlatOp& op = parts.ops[i];
      if (!op.live ||
          (op.kind != OpKind::kCarry && op.kind != OpKind::kCompute) ||
          program.kind == StageProgram::Kind::kStart) {
        continue;
      }
      ++ops;
      unknown += strategies.Knows(op, rules[i]) ? 0 : 1;
    }
  }
  EXPECT_GT(ops, 500);
  EXPECT_LT(unknown, 10);
}

}  // namespace
}  // namespace meshwright
