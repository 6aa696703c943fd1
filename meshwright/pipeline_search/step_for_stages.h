// What a pipeline is made of: the step, computing again what it is to compute
// again, its loops over layers cut.
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

// Its loops are cut for `loop_stages` of them; for one, they stay whole.
// nullopt: the step as it is. Errors as RecomputeForward and CutLoops.
// Requires: `module` passed Verify.
absl::StatusOr<std::optional<SplitStep>> StepForStages(const Module& module,
                                                       Recompute recompute,
                                                       int32_t loop_stages);

// A stage for each capacity, with about such a part of the work
// (kStageTolerance), none idle. What is computed again stays together, if there
// are enough such segments: none of it is then moved between stages in the
// backward pass. `seconds` as in StepGraphOptions. `step` is `module` taken
// apart, which computes so much again. Errors as AssignStages.
absl::StatusOr<StepStages> EvenStages(const Module& module,
                                      const PipelineStep& step,
                                      std::vector<double> capacity,
                                      Recompute recompute,
                                      std::vector<double> seconds = {},
                                      const AssignOptions& assign = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_STEP_FOR_STAGES_H_
