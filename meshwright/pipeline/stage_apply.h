// On which stage each part of the end of a step runs, and when.
//
// What updates a weight runs where the weight lives. Where that needs something
// of another stage (the norm of all gradients), what comes after waits for it
// in a later *round*:
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

namespace meshwright {

struct ApplyPlace {
  int32_t round = 0;
  int32_t stage = 0;

  auto operator<=>(const ApplyPlace&) const = default;
};

struct ApplyPlacement {
  std::vector<int32_t> parameters;  // The home of each.
  std::vector<ApplyPlace> places;   // By instruction id; of nodes and outputs.
};

// The weights whose next values take in a value of their own size made of a
// parameter: by parameter number, outputs of `entry`. The gradient of a weight
// is found by this.
std::vector<std::vector<int64_t>> OutputsLike(const Computation& entry);

// `homes`, by parameter number: the stage where it is, kNoStage where that is
// open. `next_of`, by output: the parameter of which it is the next value, -1
// if none; it is made where that one lives.
ApplyPlacement PlaceApply(const Computation& entry, const CutGraph& graph,
                          std::vector<int32_t> homes,
                          const std::vector<int64_t>& next_of);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_STAGE_APPLY_H_
