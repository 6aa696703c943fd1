// A training step taken apart as far as a pipeline needs it: what stages are
// chosen on, and made of.
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
  // By instruction id of the phase's entry: part of the forward pass. A stage
  // is to be chosen for each of these.
  std::vector<bool> forward;
  // By parameter of the phase: differs from micro-batch to micro-batch.
  std::vector<bool> is_data;
  std::vector<NextValue> state;

  const Module& micro_batch() const { return split.phases[0].module; }
};

// Errors as SplitMicroBatches; kInvalidArgument, too, for a step without a
// loss, with tuples among its parameters, or with sums over the whole batch
// inside. Requires: `module` passed Verify.
absl::StatusOr<PipelineStep> TakeApart(const Module& module,
                                       const ModuleRoles& roles,
                                       const MicroBatchOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_PIPELINE_STEP_H_
