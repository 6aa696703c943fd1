#include "meshwright/planner/stage_work.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/cost/program_cost.h"
#include "meshwright/hlo/kernel_calls.h"
#include "meshwright/hlo/read_text.h"
#include "meshwright/mesh/cluster_file.h"
#include "meshwright/pipeline/stage_backward.h"
#include "meshwright/pipeline/stage_programs.h"

namespace meshwright {
namespace {

// The gradients read the data `x` again, the weights `v` and `w`, and the
// residuals `y` and `z`.
constexpr char kTwoLayers[] = R"(
HloModule two_layers, input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) }

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  v = f32[64,64]{1,0} parameter(0)
  w = f32[64,64]{1,0} parameter(1)
  x = f32[32,64]{1,0} parameter(2)
  g = f32[32,64]{1,0} dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  y = f32[32,64]{1,0} tanh(g)
  h = f32[32,64]{1,0} dot(y, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f32[32,64]{1,0} tanh(h)
  zero = f32[] constant(0)
  loss = f32[] reduce(z, zero), dimensions={0,1}, to_apply=sum
  dw = f32[64,64]{1,0} dot(y, z), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  dy = f32[32,64]{1,0} dot(z, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  dg = f32[32,64]{1,0} multiply(dy, y)
  dv = f32[64,64]{1,0} dot(x, dg), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  next_v = f32[64,64]{1,0} subtract(v, dv)
  next_w = f32[64,64]{1,0} subtract(w, dw)
  ROOT out = (f32[64,64]{1,0}, f32[64,64]{1,0}, f32[]) tuple(next_v, next_w, loss)
})";

class StageWorkTest : public testing::Test {
 protected:
  // The first layer on stage 0, what follows on stage 1.
  absl::StatusOr<StepWork> Work(const std::string& cluster) {
    const Cluster devices =
        ParseClusterSpec(cluster, {.cores = 1, .memory_bytes = 1 << 30})
            .value();
    const Rates rates = AssumedRates(devices);
    const KernelTimes times{.rates = rates, .is_cpu = devices.IsCpu()};
    whole_ = WorkOfStep(step_, times).micro_batch;
    return WorkOfStages(step_, Forward(), 2, times);
  }
  std::vector<StageId> Forward() const {
    std::vector<StageId> forward;
    for (const auto& one : step_.micro_batch().entry()->instructions()) {
      const bool is_first = one->name == "g" || one->name == "y";
      forward.push_back(!step_.forward[one->id] || one->operands.empty()
                            ? kNoStage
                            : StageId(is_first ? 0 : 1));
    }
    return forward;
  }

  const Module module_ = ReadModuleText(kTwoLayers).value();
  const PipelineStep step_ =
      TakeApart(module_, AnalyzeRoles(module_), {.count = 2}).value();
  ProgramWork whole_;  // Of the last cluster.
};

TEST_F(StageWorkTest, EveryKernelIsInTheProgramThatWillHaveIt) {
  const StepWork work = Work("cpu:2").value();
  ASSERT_EQ(work.stages.size(), 2u);
  const StageWork& first = work.stages[0];
  const StageWork& last = work.stages[1];
  // No stage waits for a gradient of the first.
  EXPECT_EQ(first.input_grad.seconds, 0);
  double sum = 0;
  for (const ProgramWork& one : {first.forward, first.weight_grad, last.forward,
                                 last.input_grad, last.weight_grad}) {
    EXPECT_GT(one.seconds, 0);
    sum += one.seconds;
  }
  EXPECT_NEAR(sum, whole_.seconds, 0.05 * whole_.seconds);
  // The sums of gradients are set to zero, and the weights updated.
  EXPECT_EQ(first.once.size(), 2u);
  EXPECT_EQ(last.once.size(), 2u);
}

TEST_F(StageWorkTest, CountsArgumentsAndResults) {
  const StepWork work = Work("cpu:2").value();
  EXPECT_EQ(work.stages[0].forward.arrays, 2 + 1);  // x, v; y.
  // y, w and the sum of the loss; z and the sum.
  EXPECT_EQ(work.stages[1].forward.arrays, 3 + 2);
  EXPECT_EQ(work.stages[1].input_grad.arrays, 2 + 1);   // z, w; dy.
  EXPECT_EQ(work.stages[1].weight_grad.arrays, 3 + 1);  // y, z, sum; sum.
}

TEST_F(StageWorkTest, TheHostLaunchesEveryProgram) {
  const StepWork work = Work("h200:2").value();
  double programs = 0;
  for (const StageWork& stage : work.stages) {
    programs += stage.forward.host_seconds.sum() +
                stage.input_grad.host_seconds.sum() +
                stage.weight_grad.host_seconds.sum();
  }
  EXPECT_GT(whole_.host_seconds.sum(), 0);
  EXPECT_GT(programs, whole_.host_seconds.sum());
}

// As of the programs that are written: to prepare each of them, too.
TEST_F(StageWorkTest, HostsTakeWhatEstimatesOfProgramsSay) {
  const StepWork work = Work("h200:2").value();
  const Cluster one = ParseClusterSpec("h200:1", {}).value();
  const StagedStep staged =
      MakeStagePrograms(
          step_.split,
          {.stages = 2, .forward = Forward(), .state = step_.state})
          .value();
  std::vector<size_t> once(2, 0);
  for (const StageProgram& program : staged.programs) {
    const StageWork& stage = work.stages[program.stage];
    using Kind = StageProgram::Kind;
    const ProgramWork& found = program.kind == Kind::kForward ? stage.forward
                               : program.kind == Kind::kInput ? stage.input_grad
                               : program.kind == Kind::kWeight
                                   ? stage.weight_grad
                                   : stage.once[once[program.stage]++];
    const ProgramEstimate estimate = EstimateProgram(
        program.module, AssumedRates(one), one, Mesh::Parse("data=1").value());
    EXPECT_NEAR(found.host_seconds.sum(), estimate.host_seconds, 1e-9)
        << program.Name();
    EXPECT_GT(found.host_seconds.once, 100e-6) << program.Name();
  }
}

// What a device and the host do in a micro-batch, whose activation is computed
// by a kernel that sorts every row so many times.
ProgramWork WorkWithSorts(int count) {
  std::string kernel =
      "less {\n  p = f32[] parameter(0)\n  q = f32[] parameter(1)\n"
      "  ROOT r = pred[] compare(p, q), direction=LT\n}\n\n";
  for (const auto& [name, rows] : {std::pair("whole", "32"), {"half", "16"}}) {
    const std::string shape = absl::StrCat("f32[", rows, ",64]{1,0}");
    absl::StrAppend(&kernel, name, " {\n  a0 = ", shape, " parameter(0)\n");
    for (int i = 0; i < count; ++i) {
      absl::StrAppend(&kernel, i + 1 == count ? "  ROOT a" : "  a", i + 1,
                      " = ", shape, " sort(a", i,
                      "), dimensions={1}, to_apply=less\n");
    }
    absl::StrAppend(&kernel, "}\n\n");
  }
  const std::string call =
      "call(g), to_apply=whole, frontend_attributes={mw.kernel=\"sorts\","
      "mw.rule=\"b n -> b n {need_replication: n}\",mw.variants=\"half\"}";
  Module module = ReadModuleText(absl::StrReplaceAll(
                                     kTwoLayers, {{"ENTRY", kernel + "ENTRY"},
                                                  {"tanh(g)", call}}))
                      .value();
  EXPECT_EQ(CallsToKernels(module), absl::OkStatus());
  EXPECT_TRUE(HasKernels(module));
  const PipelineStep step =
      TakeApart(module, AnalyzeRoles(module), {.count = 2}).value();
  const Rates rates = AssumedRates(ParseClusterSpec("h200:2", {}).value());
  return WorkOfStep(step, {.rates = rates}).micro_batch;
}

TEST(StageWork, KernelsTakeWhatTheirBodiesTake) {
  const ProgramWork one = WorkWithSorts(1);
  const ProgramWork three = WorkWithSorts(3);
  EXPECT_GT(three.seconds, one.seconds);
  EXPECT_GT(three.host_seconds.sum(), one.host_seconds.sum());
}

}  // namespace
}  // namespace meshwright
