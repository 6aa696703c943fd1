// A training step prepared for a pipeline: what stages are chosen on and made
// of.
//
//   MW_ASSIGN_OR_RETURN(PipelineStep step,
//                       TakeApart(module, roles, {.count = 8}));
//   MW_ASSIGN_OR_RETURN(
//       StagedStep staged,
//       MakeStagePrograms(step.split, {.stages = 2,
//                                      .forward = stages.forward,
//                                      .state = step.state}));
#ifndef MESHWRIGHT_PIPELINE_SEARCH_PIPELINE_STEP_H_
#define MESHWRIGHT_PIPELINE_SEARCH_PIPELINE_STEP_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/hlo/module.h"
#include "meshwright/microbatch/micro_batches.h"
#include "meshwright/pipeline/stage_programs.h"

namespace meshwright {

struct PipelineStep {
  MicroBatched split;  // Of one phase.
  // By instruction id of the phase's entry: whether it is part of the forward
  // pass. These are the instructions that stages are chosen for.
  std::vector<bool> forward;
  // By parameter of the phase: differs between micro-batches.
  std::vector<bool> is_data;
  std::vector<NextValue> state;

  const Module& micro_batch() const { return split.phases[0].module; }
};

// Errors as SplitMicroBatches. Also kInvalidArgument for a step without a loss,
// with tuples among its parameters, or that needs sums over the whole batch
// within a micro-batch. Requires: `module` passed Verify.
absl::StatusOr<PipelineStep> TakeApart(const Module& module,
                                       const ModuleRoles& roles,
                                       const MicroBatchOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_PIPELINE_STEP_H_
