// A pipelined plan from strategies that were found on the mesh of one stage.
#ifndef MESHWRIGHT_PLANNER_STAGE_PLAN_H_
#define MESHWRIGHT_PLANNER_STAGE_PLAN_H_

#include "absl/status/statusor.h"
#include "meshwright/plan/plan.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/write_stages.h"

namespace meshwright {

// Refines the candidate and lowers it. Where the programs take more memory than
// the search counted, it is re-solved with a tighter memory limit; a stage that
// takes longer than counted gets less work. Errors as WriteStages.
absl::StatusOr<Plan> FinishStages(const PlanTask& task,
                                  const MeshSearch& search, double seconds_left,
                                  StageCandidate candidate);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_STAGE_PLAN_H_
