// Where the backward pass of a pipeline runs, given where the forward pass
// does.
//
// Cotangents go from the last stage to the first, so an instruction's stage is
// at most that of those whose results it uses. Within that, the fewest bytes
// move: what a stage kept of its forward pass stays there, and gradients are
// made where their weights are. With stages 0 and 1,
//
//   forward   h = tanh(x)  0      y = dot(h, w)      1
//   backward  dh = dot(dy, w)     1, where w is
//             dw = dot(h, dy)     1: h is there as well, it was used there
//             dx = dh * (1 - h*h) 0, and dh is what is sent
//
// What computes a forward instruction again runs where that ran, if it can:
// bytes are not worth a stage with the work of another.
//
// Exact: of each boundary between stages, independently, a cheapest cut.
#ifndef MESHWRIGHT_PIPELINE_STAGE_BACKWARD_H_
#define MESHWRIGHT_PIPELINE_STAGE_BACKWARD_H_

#include <cstdint>
#include <set>
#include <vector>

#include "meshwright/hlo/computation.h"
#include "meshwright/pipeline/cut_graph.h"

namespace meshwright {

inline constexpr int32_t kNoStage = -1;

struct BackwardProblem {
  const Computation* entry = nullptr;  // The program of a micro-batch.
  const CutGraph* graph = nullptr;
  int32_t stages = 1;
  int64_t micro_batches = 1;
  // By instruction id: the stage of forward nodes, kNoStage for the others.
  std::vector<int32_t> forward;
  // By parameter number: one that stays on its devices from step to step, so
  // that a stage gets it once per step.
  std::vector<bool> is_state;
  // By result: stages where it is best made; none: anywhere.
  std::vector<std::set<int32_t>> homes;
  // By result: what it adds up, where the terms may be made on different
  // stages. Empty: it is made on one stage.
  std::vector<std::vector<const Instruction*>> terms;
};

// The stages of all nodes, by instruction id; kNoStage for sums of terms that
// are on different stages.
std::vector<int32_t> PlaceBackward(const BackwardProblem& problem);

// The stages that use a value in the forward pass, the one that makes it
// included; by instruction id.
std::vector<std::set<int32_t>> ForwardStages(
    const Computation& entry, const CutGraph& graph,
    const std::vector<int32_t>& forward);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_STAGE_BACKWARD_H_
