// From what a user asks for to a plan: the path of `meshwright plan` and of
// api::MakePlan.
#ifndef MESHWRIGHT_API_PLAN_STEP_H_
#define MESHWRIGHT_API_PLAN_STEP_H_

#include "absl/status/statusor.h"
#include "meshwright/api/meshwright.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/planner/planner.h"

namespace meshwright {

// All that can be said without the module: not the pins.
absl::StatusOr<PlanRequest> RequestFrom(const api::PlanOptions& options);

// With the pins, at the rates that are known. `request` is from `options`;
// finalists only if they are wanted.
absl::StatusOr<PlanChoice> PlanStep(const Module& module,
                                    const Cluster& cluster,
                                    const api::PlanOptions& options,
                                    PlanRequest request, bool with_finalists);

}  // namespace meshwright

#endif  // MESHWRIGHT_API_PLAN_STEP_H_
