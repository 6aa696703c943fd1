// Local improvement of a stage assignment: for every two neighbouring stages a
// min cut of their nodes, with work priced such that both stay within bounds;
// then moves of single nodes, for bytes or for balance.
#ifndef MESHWRIGHT_PIPELINE_SEARCH_REFINE_STAGES_H_
#define MESHWRIGHT_PIPELINE_SEARCH_REFINE_STAGES_H_

#include <cstdint>
#include <vector>

#include "meshwright/pipeline_search/stage_graph.h"
#include "meshwright/pipeline_search/stage_policy.h"

namespace meshwright {

// No stage gets more work than `bounds` says, or than it has already. Cut bytes
// do not increase; the search stops at `bytes_bound`. Requires: `stages` pass
// CheckStages; the graph has no groups.
std::vector<StageId> RefineStages(const StageGraph& graph,
                                  const StageLimits& limits,
                                  const std::vector<double>& bounds,
                                  std::vector<StageId> stages,
                                  int64_t bytes_bound = 0,
                                  const StagePolicy& policy = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_REFINE_STAGES_H_
