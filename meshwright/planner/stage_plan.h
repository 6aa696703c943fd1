// A plan with stages, from strategies that were found for the mesh of one.
#ifndef MESHWRIGHT_PLANNER_STAGE_PLAN_H_
#define MESHWRIGHT_PLANNER_STAGE_PLAN_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "meshwright/plan/plan.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/write_plan.h"

namespace meshwright {

struct StageCandidate {
  Found found;
  int32_t ranks = 2;   // Groups of devices, with the mesh that was searched.
  int32_t stages = 2;  // As many, or a multiple: they take turns.
  double seconds = 0;  // Of a step, as the search counts.
};

// Searches on, cuts, lays out, predicts and schedules. Where the programs take
// more memory than the search counted, it is made to aim lower; if that does
// not help, the plan's peak says so. kInvalidArgument when the step cannot be
// cut like that.
absl::StatusOr<Plan> FinishStages(const PlanTask& task,
                                  const MeshSearch& search, double seconds_left,
                                  StageCandidate& candidate);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_STAGE_PLAN_H_
