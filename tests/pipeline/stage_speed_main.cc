// stage_speed MODULE STAGES MICRO_BATCHES: how long it takes to cut a step into
// stages, and what the stages send.
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/pipeline_search/pipeline_step.h"
#include "meshwright/pipeline_search/split_for_stages.h"
#include "meshwright/pipeline_search/step_stages.h"

namespace meshwright {
namespace {

absl::Status Run(const std::string& path, int32_t stages, int64_t count) {
  MW_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  MW_ASSIGN_OR_RETURN(const Module whole, ReadModule(bytes));
  const Stopwatch looped;
  MW_ASSIGN_OR_RETURN(const std::optional<SplitStep> loops,
                      SplitLoopsForStages(whole, AnalyzeRoles(whole), stages));
  const Module& module = loops.has_value() ? loops->module : whole;
  std::cout << "loops " << looped.seconds() << " s\n";
  const Stopwatch apart;
  MW_ASSIGN_OR_RETURN(
      const PipelineStep step,
      TakeApart(module, AnalyzeRoles(module), {.count = count}));
  std::cout << "micro-batches " << apart.seconds() << " s, "
            << step.micro_batch().entry()->size() << " instructions\n";
  const Stopwatch cut;
  MW_ASSIGN_OR_RETURN(StepStages best,
                      AssignStepStages(step, StageLimits::Even(stages, 0.1)));
  MW_ASSIGN_OR_RETURN(
      const StagedStep staged,
      MakeStagePrograms(step.split, {.stages = stages,
                                     .forward = std::move(best.forward),
                                     .state = step.state}));
  std::cout << "stages " << cut.seconds() << " s, " << staged.programs.size()
            << " programs\n";
  for (const StageValue& value : staged.values) {
    const StageProgram& from = staged.programs[value.program];
    for (const ProgramId user : value.users) {
      const StageProgram& to = staged.programs[user];
      if (to.stage == from.stage) continue;
      std::cout << from.Name() << " -> " << to.Name() << " " << value.name
                << " " << value.shape.ToString() << "\n";
    }
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace meshwright

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "stage_speed MODULE STAGES MICRO_BATCHES\n";
    return 2;
  }
  const absl::Status status =
      meshwright::Run(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
