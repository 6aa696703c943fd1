// From the user's options to a plan: used by `meshwright plan` and
// api::MakePlan.
#ifndef MESHWRIGHT_API_PLAN_STEP_H_
#define MESHWRIGHT_API_PLAN_STEP_H_

#include "absl/status/statusor.h"
#include "meshwright/api/meshwright.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/planner/planner.h"

namespace meshwright {

// Everything that does not depend on the module, that is, all but the pins.
absl::StatusOr<PlanRequest> RequestFrom(const api::PlanOptions& options);

// Adds the pins and uses the known rates. `request` is from `options`;
// finalists are returned only if requested.
absl::StatusOr<PlanChoice> PlanStep(const Module& module,
                                    const Cluster& cluster,
                                    const api::PlanOptions& options,
                                    PlanRequest request, bool with_finalists);

}  // namespace meshwright

#endif  // MESHWRIGHT_API_PLAN_STEP_H_
