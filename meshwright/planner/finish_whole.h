// From sketches of plans without stages to the one that is best as a program.
#ifndef MESHWRIGHT_PLANNER_FINISH_WHOLE_H_
#define MESHWRIGHT_PLANNER_FINISH_WHOLE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/plan/plan.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/plan_log.h"
#include "meshwright/planner/write_plan.h"

namespace meshwright {

// Searches on from the most promising of `found`, of which there are some, and
// writes them and the `experts`, who are left empty; the first of `found` is
// then the plan's. Where the program takes more than the search counted, it is
// made to aim lower; if that does not help, the plan's peak says so.
absl::StatusOr<Plan> FinishWhole(const PlanTask& task, const MeshSearch& search,
                                 std::vector<Found>& found,
                                 std::vector<Found>& experts, PlanLog& log);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_FINISH_WHOLE_H_
