// What a user asks of a plan: checked, and as the plan records it.
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

// kInvalidArgument when axes are named without a mesh that has them, or the
// name of the batch's is none.
absl::Status CheckSteering(const PlanRequest& request);

// What the search prices moves with: the rates or, for the fewest bytes, bytes;
// without what is forbidden.
Prices SearchPrices(const PlanRequest& request, const Rates& rates,
                    const Cluster& cluster, const Mesh& mesh);

// For the plan's file. `pins` are those of the step of `model`.
Steering SteeringOf(const PlanRequest& request, const Annotations& pins,
                    const StepModel& model, const Mesh& mesh);

// Back from the plan's file. kInvalidArgument, naming it, for a pin on what the
// step does not have.
absl::StatusOr<Annotations> PinsOf(const Steering& steering, const Module& step,
                                   const FlatGraph& graph, const Mesh& mesh);

// The rules that the strategies of a plan are for.
absl::StatusOr<std::vector<Rule>> RulesOf(const Steering& steering,
                                          const Module& step,
                                          const FlatGraph& graph,
                                          const Mesh& mesh);

// kInvalidArgument: nothing is as the request asks for.
absl::Status NoWay(const PlanRequest& request);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_STEERING_H_
