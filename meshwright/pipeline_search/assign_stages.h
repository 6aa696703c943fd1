// Stages for the nodes of a graph: balanced within a tolerance, fewest bytes
// between them, on the graph as it is and not on an order of it.
//
//   MW_ASSIGN_OR_RETURN(const StageAssignment best,
//                       AssignStages(graph, StageLimits::Even(4, 0.05)));
//   best.stages[node], best.cost.cut_bytes, best.Gap()
//
// Light nodes join the ones next to them (stage_clusters.h) until there are few
// enough down-sets; of all of these, or of those along several orders where
// there are too many, a dynamic programme finds the best boundaries; the result
// is improved on the nodes themselves (refine_stages.h). Where a gap is left,
// the same programme tells which stages each cluster can be on in anything
// better, and HiGHS finds it, or that there is none (stage_core.h).
#ifndef MESHWRIGHT_PIPELINE_SEARCH_ASSIGN_STAGES_H_
#define MESHWRIGHT_PIPELINE_SEARCH_ASSIGN_STAGES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/pipeline_search/stage_graph.h"

namespace meshwright {

struct StageAssignment {
  std::vector<int32_t> stages;  // By node.
  CutCost cost;
  // What was allowed: 1 + tolerance; where that cannot be met, times the best
  // balance found.
  double allowed_balance = 0;
  // No assignment with that balance cuts fewer bytes.
  int64_t bytes_bound = 0;
  // How many nodes and down-sets were left to choose from.
  int32_t clusters = 0;
  int64_t down_sets = 0;

  // How far the cut bytes are from the bound, relative to it; 0: optimal.
  double Gap() const;
};

struct AssignOptions {
  // More than these are not looked at one by one.
  size_t down_sets = 20000;
  // A cut that is no further from its bound is not improved.
  double good_gap = 0.002;
  // Else the bound is what the dynamic programme tells alone, and HiGHS is not
  // asked: soon done, however many stages.
  bool thorough = true;
};

// kInvalidArgument for more stages than parts, for fixed stages that cannot be,
// and where no assignment holds at most the memory of each stage.
// Deterministic.
absl::StatusOr<StageAssignment> AssignStages(const StageGraph& graph,
                                             const StageLimits& limits,
                                             const AssignOptions& options = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_ASSIGN_STAGES_H_
