#include "tests/pipeline/pipeline_oracle.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/microbatch/micro_batch_loop.h"
#include "meshwright/pipeline_search/split_for_stages.h"
#include "meshwright/pipeline_search/stage_policy.h"
#include "meshwright/pipeline_search/step_stages.h"
#include "meshwright/runtime/executor.h"
#include "meshwright/runtime/local_runner.h"
#include "meshwright/schedule/generate.h"
#include "tests/partition/partition_oracle.h"

namespace meshwright {
namespace {

constexpr uint64_t kSeed = 0;

OptionMap QuickCompilation() {
  return {{"xla_backend_optimization_level", int64_t{0}},
          {"xla_cpu_use_fusion_emitters", false}};
}

absl::StatusOr<std::vector<Tensor>> OutputsAfter(Runner& runner, int steps) {
  MW_RETURN_IF_ERROR(runner.FillSynthetic(kSeed));
  for (int step = 0; step < steps; ++step) {
    MW_RETURN_IF_ERROR(runner.Step().status());
  }
  return runner.ReadOutputs();
}

}  // namespace

absl::StatusOr<std::unique_ptr<PipelineOracle>> PipelineOracle::Create(
    const Module& module, const MicroBatchOptions& options, int steps,
    int32_t stages) {
  MW_ASSIGN_OR_RETURN(
      std::optional<SplitStep> loops,
      SplitLoopsForStages(module, AnalyzeRoles(module), stages));
  const Module& cut = loops.has_value() ? loops->module : module;
  MW_ASSIGN_OR_RETURN(PipelineStep step,
                      TakeApart(cut, AnalyzeRoles(cut), options));
  std::unique_ptr<PipelineOracle> oracle(new PipelineOracle(
      module, steps, stages, std::move(loops), std::move(step)));
  MW_ASSIGN_OR_RETURN(const Module looped,
                      LoopOverMicroBatches(module, options));
  MW_ASSIGN_OR_RETURN(Client* const client, OracleClient());
  MW_ASSIGN_OR_RETURN(const auto runner,
                      MakeLocalRunner(looped, client, QuickCompilation()));
  MW_ASSIGN_OR_RETURN(oracle->wanted_, OutputsAfter(*runner, steps));
  return oracle;
}

absl::StatusOr<StagedStep> PipelineOracle::Staged() const {
  MW_ASSIGN_OR_RETURN(
      StepStages best,
      AssignStepStages(step_,
                       StageLimits::Even(stages_, StagePolicy().tolerance)));
  return MakeStagePrograms(step_.split, {.stages = stages_,
                                         .forward = std::move(best.forward),
                                         .state = step_.state});
}

absl::StatusOr<std::vector<std::vector<Tensor>>> PipelineOracle::Run(
    const StagedStep& staged, int ranks, const std::string& mesh,
    const std::vector<ScheduleKind>& schedules,
    std::vector<Simulation>* executions) const {
  MW_ASSIGN_OR_RETURN(Client* const client, OracleClient());
  MW_ASSIGN_OR_RETURN(const Mesh stage_mesh, Mesh::Parse(mesh));
  const PipelineShape shape{
      .stages = staged.stages,
      .ranks = ranks,
      .micro_batches = static_cast<int>(staged.micro_batches)};
  Executor* executor = nullptr;
  std::unique_ptr<PipelineRunner> runner;
  std::vector<std::vector<Tensor>> outputs;
  for (const ScheduleKind schedule : schedules) {
    MW_ASSIGN_OR_RETURN(Timetable timetable, MakeTimetable(shape, schedule));
    if (runner != nullptr) {
      MW_RETURN_IF_ERROR(executor->SetTimetable(std::move(timetable)));
    } else {
      MW_ASSIGN_OR_RETURN(
          const StagedLayout layout,
          LayOutStages(staged, std::vector<Mesh>(staged.stages, stage_mesh)));
      MW_ASSIGN_OR_RETURN(
          JobSource source,
          MakeJob(cut_module(), staged, layout, std::move(timetable)));
      MW_ASSIGN_OR_RETURN(std::unique_ptr<JobRunner> pipeline,
                          MakeLocalRunner(cut_module(), std::move(source),
                                          client, QuickCompilation()));
      executor = pipeline->executor();
      runner = std::make_unique<PipelineRunner>(
          &module_, loops_.has_value() ? &*loops_ : nullptr,
          std::move(pipeline));
    }
    MW_ASSIGN_OR_RETURN(outputs.emplace_back(), OutputsAfter(*runner, steps_));
    if (executions != nullptr)
      executions->push_back(runner->pipeline().execution());
  }
  return outputs;
}

absl::Status PipelineOracle::Compare(const std::vector<Tensor>& outputs,
                                     double tolerance) const {
  const Mesh one = Mesh::Parse("1").value();
  for (size_t i = 0; i < wanted_.size(); ++i) {
    MW_RETURN_IF_ERROR(
        Annotate(CompareScaled(AsLiteral(outputs[i]), AsLiteral(wanted_[i]),
                               Sharding::Replicated(wanted_[i].dimensions), one,
                               0, tolerance)
                     .status(),
                 wanted_[i].name));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
