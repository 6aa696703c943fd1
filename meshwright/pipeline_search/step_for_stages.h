// The step that a pipeline is made of: with rematerialisation, and with its
// loops over layers split.
#ifndef MESHWRIGHT_PIPELINE_SEARCH_STEP_FOR_STAGES_H_
#define MESHWRIGHT_PIPELINE_SEARCH_STEP_FOR_STAGES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/loops/split_loops.h"
#include "meshwright/pipeline_search/pipeline_step.h"
#include "meshwright/pipeline_search/step_stages.h"
#include "meshwright/remat/recompute.h"

namespace meshwright {

// Loops are split for `loop_stages` stages; for 1 they stay whole. nullopt: the
// step is unchanged. Errors as RecomputeForward and SplitLoopsForStages.
// Requires: `module` passed Verify.
absl::StatusOr<std::optional<SplitStep>> StepForStages(const Module& module,
                                                       Recompute recompute,
                                                       int32_t loop_stages);

// A stage for each capacity of `limits`, with about that share of the work
// (StagePolicy::tolerance), none idle, none holding more than its memory.
// Segments that are rematerialised stay together if there are enough of them,
// so that none of their instructions are moved between stages in the backward
// pass. `seconds` as in StepGraphOptions. `step` is TakeApart of `module`, to
// which `recompute` has been applied. Errors as AssignStages.
absl::StatusOr<StepStages> EvenStages(const Module& module,
                                      const PipelineStep& step,
                                      StageLimits limits, Recompute recompute,
                                      std::vector<double> seconds = {},
                                      const AssignOptions& assign = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_STEP_FOR_STAGES_H_
