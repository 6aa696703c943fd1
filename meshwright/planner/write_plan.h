// From what the search found to a plan.
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

// The mesh with the names that its axes have in a plan or, if none was found,
// might.
Mesh NamedMesh(const PlanRequest& request, const Found* found,
               const StepModel& model, const Mesh& mesh);

// What was looked at, without what came of it.
Alternative AlternativeOf(const PlanRequest& request, const Found* found,
                          const CutStep& cut, const Mesh& mesh);

// Why nothing came of it, in the user's words; empty for OK.
std::string WhyNot(const absl::Status& status);

// Notes what the program of a plan takes at the alternative that it was made
// of, and that it does not fit where that is so.
void RecordWritten(const PlanTask& task, const Plan& plan,
                   std::vector<Alternative>& alternatives);

// What was found, on `mesh`, the NamedMesh.
PlannedLayout LayoutFor(const Found& found, const Mesh& mesh);

// All but what depends on the program: tensors, collectives, predictions.
Plan BeginPlan(const PlanTask& task, const Found& found);

// The plan of a step that is not cut into stages, lowered and priced.
absl::StatusOr<Plan> WritePlan(const PlanTask& task, const Found& found);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_WRITE_PLAN_H_
