// Stages for the forward pass of a training step.
//
//   MW_ASSIGN_OR_RETURN(const PipelineStep step, TakeApart(...));
//   MW_ASSIGN_OR_RETURN(const StepStages best,
//                       AssignStepStages(step, StageLimits::Even(4, 0.05)));
//   MakeStagePrograms(step.split, {.stages = 4, .forward = best.forward, ...});
//
// Nodes are those of the step's CutGraph. What is counted, for a micro-batch:
//
//   work   flops (or seconds) of the forward instruction, and of its backward
//          ones: a contraction has one more for every operand that needs a
//          gradient, all else one more in all
//   bytes  a value that needs a gradient crosses twice, forward and as its
//          cotangent; others once. A weight that several stages use is sent to
//          them, and its gradient back, once per step and not per micro-batch;
//          data is given where it is used
//   held   weights, by the first that uses them, and what the node makes
#ifndef MESHWRIGHT_PIPELINE_SEARCH_STEP_STAGES_H_
#define MESHWRIGHT_PIPELINE_SEARCH_STEP_STAGES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/pipeline_search/assign_stages.h"
#include "meshwright/pipeline_search/pipeline_step.h"
#include "meshwright/pipeline_search/stage_graph.h"

namespace meshwright {

// How much of its share a stage may be above it, unless somebody says
// otherwise: what the bytes between stages gain by it is worth the wait.
inline constexpr double kStageTolerance = 0.1;

struct StepGraph {
  StageGraph graph;
  std::vector<int32_t> instruction_of;  // By node: an id of the micro-batch.
};

struct StepGraphOptions {
  // All by instruction id of the micro-batch program; empty: for none.
  std::vector<int32_t> fixed;   // The stage it must be on, or kAnyStage.
  std::vector<int32_t> layers;  // Those of one layer stay together; or -1.
  std::vector<double> seconds;  // What a run takes, in place of its flops.
};

StepGraph MakeStepGraph(const PipelineStep& step,
                        const StepGraphOptions& options = {});

// `stages` by node. By instruction id, kNoStage for what is no node: what
// StageOptions::forward wants.
std::vector<int32_t> ByInstruction(const PipelineStep& step,
                                   const StepGraph& graph,
                                   const std::vector<int32_t>& stages);

// What passes between two stages for a micro-batch, there and back.
struct StageCrossing {
  int32_t from = 0;
  int32_t to = 0;
  int64_t bytes = 0;
};

struct StepStages {
  std::vector<int32_t> forward;  // By instruction id, as ByInstruction.
  StageAssignment assignment;
  std::vector<double> work;  // By stage, forward and backward.
  std::vector<StageCrossing> crossings;
};

// Errors as AssignStages.
absl::StatusOr<StepStages> AssignStepStages(
    const PipelineStep& step, const StageLimits& limits,
    const StepGraphOptions& options = {}, const AssignOptions& assign = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_STEP_STAGES_H_
