// The search for a plan, for what can be.
#ifndef MESHWRIGHT_PLANNER_FIND_PLAN_H_
#define MESHWRIGHT_PLANNER_FIND_PLAN_H_

#include "absl/status/statusor.h"
#include "meshwright/planner/planner.h"

namespace meshwright {

// As MakePlan, but there is something to compute again if that is asked for.
absl::StatusOr<Plan> FindPlan(const Module& module, const Cluster& cluster,
                              const Rates& rates, const PlanRequest& request);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_FIND_PLAN_H_
