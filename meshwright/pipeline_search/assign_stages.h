// Assigns the nodes of a graph to pipeline stages: balanced within a tolerance,
// with the fewest bytes between stages. Works on the graph itself, not on one
// linear order of it.
//
//   MW_ASSIGN_OR_RETURN(const StageAssignment best,
//                       AssignStages(graph, StageLimits::Even(4, 0.05)));
//   best.stages[node], best.cost.cut_bytes, best.Gap()
//
// Light nodes are merged into neighbours (stage_clusters.h) until there are few
// enough down-sets. A dynamic program over all of these (or over those along
// several linear orders, if there are too many) finds the best boundaries, and
// the result is improved on the nodes themselves (refine_stages.h). If an
// optimality gap is left, the same dynamic program bounds the stages that each
// cluster can be on in any better assignment, and HiGHS finds such an
// assignment or proves that there is none (stage_core.h).
#ifndef MESHWRIGHT_PIPELINE_SEARCH_ASSIGN_STAGES_H_
#define MESHWRIGHT_PIPELINE_SEARCH_ASSIGN_STAGES_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "meshwright/pipeline_search/stage_graph.h"
#include "meshwright/pipeline_search/stage_policy.h"

namespace meshwright {

struct StageAssignment {
  std::vector<StageId> stages;  // By node.
  CutCost cost;
  // The balance allowed: 1 + tolerance or, if that is impossible, (1 +
  // tolerance) times the best balance found.
  double allowed_balance = 0;
  // A lower bound on the bytes of any assignment with that balance.
  int64_t bytes_bound = 0;
  // How many clusters and down-sets the search considered.
  int32_t clusters = 0;
  int64_t down_sets = 0;

  // How far the cut bytes are above the bound, relative to it; 0: optimal.
  double Gap() const;
};

struct AssignOptions {
  StagePolicy policy;
  // If false, the bound is that of the dynamic program, and HiGHS is not used:
  // fast, however many stages.
  bool thorough = true;
  // Assignments less balanced than this are of no use. One that is as balanced
  // as `tolerance` demands always is.
  double most_balance = std::numeric_limits<double>::infinity();
  // When to give up, by SteadyNow().
  absl::Time deadline = absl::InfiniteFuture();
};

// kInvalidArgument for more stages than nodes, for fixed stages that are
// impossible, and if no assignment fits in the memory of each stage or is as
// balanced as demanded. kDeadlineExceeded if none was found in time; otherwise
// deterministic.
absl::StatusOr<StageAssignment> AssignStages(const StageGraph& graph,
                                             const StageLimits& limits,
                                             const AssignOptions& options = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_ASSIGN_STAGES_H_
