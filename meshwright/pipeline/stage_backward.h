// Assigns the backward pass of a pipeline to stages, given the assignment of
// the forward pass.
//
// Cotangents go from the last stage to the first, so an instruction's stage is
// at most that of any instruction whose result it uses. Within that, the fewest
// bytes are sent: residuals stay on the stage of the forward pass that made
// them, and weight gradients are computed where their weights are. With stages
// 0 and 1,
//
//   forward   h = tanh(x)  0      y = dot(h, w)      1
//   backward  dh = dot(dy, w)     1, where w is
//             dw = dot(h, dy)     1: h is there as well, it was used there
//             dx = dh * (1 - h*h) 0, and dh is what is sent
//
// Rematerialised forward instructions run on the stage of their original if
// possible: fewer bytes are not worth an unbalanced pipeline.
//
// Optimal: an independent min cut for each boundary between stages.
#ifndef MESHWRIGHT_PIPELINE_STAGE_BACKWARD_H_
#define MESHWRIGHT_PIPELINE_STAGE_BACKWARD_H_

#include <cstdint>
#include <set>
#include <vector>

#include "meshwright/hlo/computation.h"
#include "meshwright/pipeline/cut_graph.h"
#include "meshwright/pipeline/stage_id.h"

namespace meshwright {

struct BackwardProblem {
  const Computation* entry = nullptr;  // The program of a micro-batch.
  const CutGraph* graph = nullptr;
  int32_t stages = 1;
  int64_t micro_batches = 1;
  // By instruction id: the stage of forward nodes, kNoStage for others.
  std::vector<StageId> forward;
  // By parameter number: whether it stays on its devices from step to step, so
  // that a stage receives it once per step.
  std::vector<bool> is_state;
  // By result: the stages where it is preferably computed; empty: anywhere.
  std::vector<std::set<StageId>> homes;
  // By result: the terms of the sum that it is, if these may be computed on
  // different stages. Empty: it is computed on one stage.
  std::vector<std::vector<const Instruction*>> terms;
};

// The stages of all nodes, by instruction id; kNoStage for sums whose terms are
// on different stages.
std::vector<StageId> PlaceBackward(const BackwardProblem& problem);

// By instruction id: the stages that use a value in the forward pass, including
// the one that computes it.
std::vector<std::set<StageId>> ForwardStages(
    const Computation& entry, const CutGraph& graph,
    const std::vector<StageId>& forward);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_STAGE_BACKWARD_H_
