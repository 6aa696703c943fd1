// Splitting the batch along an axis that the user names.
#ifndef MESHWRIGHT_PLANNER_BATCH_AXIS_H_
#define MESHWRIGHT_PLANNER_BATCH_AXIS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/annotations/annotations.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/plan/plan.h"
#include "meshwright/planner/planner.h"
#include "meshwright/search/step_model.h"

namespace meshwright {

// Keeps the meshes among whose batch axis the batch divides, all if none is
// asked for. kInvalidArgument, naming the axis or the tensor, if none is left.
absl::Status KeepBatchMeshes(const Module& module, const PlanRequest& request,
                             std::vector<Mesh>& meshes);

// Adds to `pins` that the inputs that hold the batch are split along the axis.
// kInvalidArgument, naming the tensor, where a pin says otherwise.
absl::Status PinBatch(const PlanRequest& request, const StepModel& model,
                      const Mesh& mesh, Annotations& pins);

// What to tell a user who asked for the batch to be split along an axis, by
// name or with an expert's strategy, where it does not divide: a line, or none.
std::vector<std::string> WhyBatchStays(const Module& module,
                                       const PlanRequest& request,
                                       const Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_BATCH_AXIS_H_
