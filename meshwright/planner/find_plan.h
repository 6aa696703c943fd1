// The search for a plan.
#ifndef MESHWRIGHT_PLANNER_FIND_PLAN_H_
#define MESHWRIGHT_PLANNER_FIND_PLAN_H_

#include "absl/status/statusor.h"
#include "meshwright/planner/plan_task.h"
#include "meshwright/planner/planner.h"

namespace meshwright {

// As MakePlan; finalists only if the mode keeps them.
absl::StatusOr<PlanChoice> MakePlanIn(const Module& module,
                                      const Cluster& cluster,
                                      const Rates& rates,
                                      const PlanRequest& request,
                                      const SearchMode& mode);

// The same, but there is something to compute again if that is asked for.
absl::StatusOr<PlanChoice> FindPlan(const Module& module,
                                    const Cluster& cluster, const Rates& rates,
                                    const PlanRequest& request,
                                    const SearchMode& mode);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_FIND_PLAN_H_
