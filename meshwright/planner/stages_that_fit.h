// Pipelined plans under a tight memory limit.
#ifndef MESHWRIGHT_PLANNER_STAGES_THAT_FIT_H_
#define MESHWRIGHT_PLANNER_STAGES_THAT_FIT_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/stage_plan.h"
#include "meshwright/planner/write_plan.h"

namespace meshwright {

// Called with every candidate that was to be lowered, and the result.
using StagesWritten =
    std::function<void(const StageCandidate&, const absl::StatusOr<Plan>&)>;

// Lowers candidates fastest first, at least one, until none that is left is
// estimated to be faster than the best that fits, or than `whole_seconds`, what
// the best plan without stages takes. If none fits, returns the one that needs
// the least memory. `staged` keeps those that are estimated to be faster but
// were not lowered for want of time.
absl::StatusOr<Plan> FinishBestFirst(const PlanTask& task,
                                     const MeshSearch& search,
                                     double seconds_left, double whole_seconds,
                                     std::vector<StageCandidate>& staged,
                                     const StagesWritten& written);

// For a search that found nothing that fits: the leanest plan if it fits, else
// kResourceExhausted naming an amount of memory that would suffice.
absl::StatusOr<Plan> StagesThatFit(const PlanTask& task, double seconds_left);

// For a search over all stage counts that found nothing that fits: for every
// stage count that divides the devices, lowers the plan that is best with
// unlimited memory (the search overestimates what programs need), and returns
// the fastest that fits. kNotFound if none does.
absl::StatusOr<Plan> AnyStagesThatFit(const PlanTask& task,
                                      double seconds_left);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_STAGES_THAT_FIT_H_
