// From a candidate to a plan.
#ifndef MESHWRIGHT_PLANNER_WRITE_PLAN_H_
#define MESHWRIGHT_PLANNER_WRITE_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cost/rates.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/plan/plan.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/plan_task.h"
#include "meshwright/planner/planner.h"

namespace meshwright {

// The mesh with the axis names that it has in a plan or, if no candidate was
// found, would probably have.
Mesh NamedMesh(const PlanRequest& request, const PlanCandidate* found,
               const StepModel& model, const Mesh& mesh);

// A record of what was tried, still without its result.
Alternative AlternativeOf(const PlanRequest& request,
                          const PlanCandidate* found,
                          const StepVariant& variant, const Mesh& mesh);

// Why it failed, in the user's words; empty for OK.
std::string WhyNot(const absl::Status& status);

// That was tried in this setting, whatever the names of axes; null if none was.
Alternative* FindAlternative(std::vector<Alternative>& alternatives,
                             const Mesh& mesh, int64_t micro_batches,
                             int32_t ranks, Recompute recompute);

// Records, at the alternative that `plan` was made from, the predicted time of
// its program, and that it does not fit where that is so.
void RecordWritten(const PlanTask& task, const Plan& plan,
                   std::vector<Alternative>& alternatives);

// The strategies of `found` as recorded in a plan, on `mesh` (NamedMesh).
PlannedLayout LayoutFor(const PlanCandidate& found, const Mesh& mesh);

// A plan with everything that does not depend on its program (tensors,
// collectives and predictions do).
Plan BeginPlan(const PlanTask& task, const PlanCandidate& found);

// The non-pipelined plan of a candidate, lowered and priced.
absl::StatusOr<Plan> WritePlan(const PlanTask& task,
                               const PlanCandidate& found);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_WRITE_PLAN_H_
