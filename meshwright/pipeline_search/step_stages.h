// Pipeline stages for the forward pass of a training step.
//
//   MW_ASSIGN_OR_RETURN(const PipelineStep step, TakeApart(...));
//   MW_ASSIGN_OR_RETURN(const StepStages best,
//                       AssignStepStages(step, StageLimits::Even(4, 0.05)));
//   MakeStagePrograms(step.split, {.stages = 4, .forward = best.forward, ...});
//
// Nodes are those of the step's CutGraph. Quantities are for one micro-batch:
//
//   work   FLOPs (or seconds) of the forward instruction and of its backward
//          instructions: a contraction has as much again for every operand that
//          needs a gradient, any other instruction as much again once
//   bytes  a value that needs a gradient crosses twice, forward and as its
//          cotangent; others once. A weight that several stages use is sent to
//          them, and its gradient back, once per step, not per micro-batch;
//          data is given to each stage that uses it
//   held   weights, on the first stage that uses them, and the node's results
#ifndef MESHWRIGHT_PIPELINE_SEARCH_STEP_STAGES_H_
#define MESHWRIGHT_PIPELINE_SEARCH_STEP_STAGES_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/pipeline_search/assign_stages.h"
#include "meshwright/pipeline_search/pipeline_step.h"
#include "meshwright/pipeline_search/stage_graph.h"

namespace meshwright {

struct StepGraph {
  StageGraph graph;
  // By node: instruction id in the micro-batch program.
  std::vector<int32_t> instruction_of;
};

struct StepGraphOptions {
  // All by instruction id of the micro-batch program; empty: for none.
  std::vector<StageId> fixed;  // The stage it must be on, or kAnyStage.
  // Instructions of one layer stay together; -1: free.
  std::vector<int32_t> layers;
  std::vector<double> seconds;  // Time of one execution, used instead of FLOPs.
};

StepGraph MakeStepGraph(const PipelineStep& step,
                        const StepGraphOptions& options = {});

// `stages` is by node. The result is by instruction id, kNoStage for what is no
// node: the form of StageOptions::forward.
std::vector<StageId> ByInstruction(const PipelineStep& step,
                                   const StepGraph& graph,
                                   const std::vector<StageId>& stages);

// Bytes that pass between two stages per micro-batch, in both directions.
struct StageCrossing {
  StageId from;
  StageId to;
  int64_t bytes = 0;
};

struct StepStages {
  std::vector<StageId> forward;  // By instruction id, as from ByInstruction.
  StageAssignment assignment;
  std::vector<double> work;   // By stage, forward and backward.
  std::vector<int64_t> held;  // By stage.
  std::vector<StageCrossing> crossings;
};

// Errors as AssignStages.
absl::StatusOr<StepStages> AssignStepStages(
    const PipelineStep& step, const StageLimits& limits,
    const StepGraphOptions& options = {}, const AssignOptions& assign = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_STEP_STAGES_H_
