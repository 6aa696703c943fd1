// A plan with stages, from strategies that were found for the mesh of one.
#ifndef MESHWRIGHT_PLANNER_STAGE_PLAN_H_
#define MESHWRIGHT_PLANNER_STAGE_PLAN_H_

#include "absl/status/statusor.h"
#include "meshwright/plan/plan.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/write_stages.h"

namespace meshwright {

// Searches on and writes the plan. Where the programs take more memory than the
// search counted, it is made to aim lower; where a stage takes longer, it gets
// less. Errors as WriteStages.
absl::StatusOr<Plan> FinishStages(const PlanTask& task,
                                  const MeshSearch& search, double seconds_left,
                                  StageCandidate& candidate);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_STAGE_PLAN_H_
