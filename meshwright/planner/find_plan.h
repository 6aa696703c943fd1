// Entry points of the search for a plan, below planner.h.
#ifndef MESHWRIGHT_PLANNER_FIND_PLAN_H_
#define MESHWRIGHT_PLANNER_FIND_PLAN_H_

#include "absl/status/statusor.h"
#include "meshwright/planner/plan_task.h"
#include "meshwright/planner/planner.h"

namespace meshwright {

// As MakePlan; returns finalists only if `mode.keeps_finalists`.
absl::StatusOr<PlanChoice> MakePlanIn(const Module& module,
                                      const Cluster& cluster,
                                      const Rates& rates,
                                      const PlanRequest& request,
                                      const SearchMode& mode,
                                      const SearchPolicy& policy);

// As MakePlanIn, for a step in which something can be rematerialised if the
// request asks for that.
absl::StatusOr<PlanChoice> FindPlan(const Module& module,
                                    const Cluster& cluster, const Rates& rates,
                                    const PlanRequest& request,
                                    const SearchMode& mode,
                                    const SearchPolicy& policy);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_FIND_PLAN_H_
