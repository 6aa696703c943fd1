// The user's requests: validated, and in the form in which a plan records them.
#ifndef MESHWRIGHT_PLANNER_STEERING_H_
#define MESHWRIGHT_PLANNER_STEERING_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/annotations/annotations.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/plan/plan.h"
#include "meshwright/planner/planner.h"
#include "meshwright/search/step_model.h"

namespace meshwright {

// kInvalidArgument if axes are named without a mesh that has them, or if the
// batch axis' name is not a valid name.
absl::Status CheckSteering(const PlanRequest& request);

// The prices that the search minimises: by the rates or, for Expert::kVolume,
// the bytes sent; forbidden collectives are prohibitively expensive.
Prices SearchPrices(const PlanRequest& request, const Rates& rates,
                    const Cluster& cluster, const Mesh& mesh);

// As recorded in the plan's file. `pins` are on the step of `model`.
Steering SteeringOf(const PlanRequest& request, const Annotations& pins,
                    const StepModel& model, const Mesh& mesh);

// The inverse: pins from the plan's file. kInvalidArgument, naming it, for a
// pin on something that the step does not have.
absl::StatusOr<Annotations> PinsOf(const Steering& steering, const Module& step,
                                   const FlatGraph& graph, const Mesh& mesh);

// The rules that a plan's strategies refer to: those of the ops, extended where
// pins require it.
absl::StatusOr<std::vector<Rule>> RulesOf(const Steering& steering,
                                          const Module& step,
                                          const FlatGraph& graph,
                                          const Mesh& mesh);

// kInvalidArgument: nothing satisfies the request.
absl::Status NoWay(const PlanRequest& request);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_STEERING_H_
