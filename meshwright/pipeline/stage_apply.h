// Where and when the end of a step (the optimizer update) runs in a pipeline.
//
// The update of a weight runs on the stage that holds the weight. If it needs
// something of other stages (the norm of all gradients), it waits for that in a
// later *round*:
//
//   round 0   every stage: squares of its gradients, summed
//   round 1   stage 0: the sum of these, its root; its own weights
//   round 2   the others: their weights, scaled by the norm
#ifndef MESHWRIGHT_PIPELINE_STAGE_APPLY_H_
#define MESHWRIGHT_PIPELINE_STAGE_APPLY_H_

#include <cstdint>
#include <vector>

#include "meshwright/hlo/computation.h"
#include "meshwright/pipeline/cut_graph.h"
#include "meshwright/pipeline/stage_id.h"

namespace meshwright {

struct ApplyPlace {
  int32_t round = 0;
  StageId stage;

  auto operator<=>(const ApplyPlace&) const = default;
};

struct ApplyPlaces {
  std::vector<StageId> parameters;  // By parameter: the stage that holds it.
  std::vector<ApplyPlace> places;   // By instruction id; of nodes and outputs.
};

// By parameter number: the outputs of `entry` that are next values of weights
// and depend, at the weight's own size, on that parameter. This identifies the
// gradient of a weight.
std::vector<std::vector<int64_t>> OutputsLike(const Computation& entry);

// `homes`, by parameter number: the stage that holds it, kNoStage if that is
// open. `next_of`, by output: the parameter whose next value it is, or -1; it
// is computed on that parameter's stage.
ApplyPlaces PlaceApply(const Computation& entry, const CutGraph& graph,
                       std::vector<StageId> homes,
                       const std::vector<int64_t>& next_of);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_STAGE_APPLY_H_
