// What a plan must keep to: an expert's ways, and what the user pinned.
#ifndef MESHWRIGHT_PLANNER_DEMAND_H_
#define MESHWRIGHT_PLANNER_DEMAND_H_

#include "meshwright/mesh/mesh.h"
#include "meshwright/partition/annotations.h"
#include "meshwright/search/expert.h"
#include "meshwright/search/mesh_problem.h"
#include "meshwright/search/step_model.h"

namespace meshwright {

// Pins count before the expert. A pin on one op holds for all that are alike.
// The arguments outlive the demand.
Demand PlanDemand(const StepModel& model, Expert of, const Mesh& mesh,
                  const Annotations& pins);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_DEMAND_H_
