// Splitting the batch along a mesh axis that the user names (--batch-axis).
#ifndef MESHWRIGHT_PLANNER_BATCH_AXIS_H_
#define MESHWRIGHT_PLANNER_BATCH_AXIS_H_

#include <cstdint>
#include <optional>
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

// The index of the requested batch axis; nullopt: none was requested.
std::optional<int32_t> BatchAxisOf(const PlanRequest& request,
                                   const Mesh& mesh);

// Removes from `meshes` those whose batch axis does not divide the batch;
// removes none if no batch axis was requested. kInvalidArgument, naming the
// axis or the tensor, if no mesh is left.
absl::Status KeepBatchMeshes(const Module& module, const PlanRequest& request,
                             std::vector<Mesh>& meshes);

// Adds pins that split every input that holds the batch along the batch axis.
// kInvalidArgument, naming the tensor, where an existing pin contradicts that.
absl::Status PinBatch(const PlanRequest& request, const StepModel& model,
                      const Mesh& mesh, Annotations& pins);

// Notes for a user who asked for the batch to be split along an axis, by name
// or through an expert's strategy, where its size does not divide the batch, so
// that it stays unsplit. One note per line; empty if there is nothing to say.
std::vector<std::string> WhyBatchStays(const Module& module,
                                       const PlanRequest& request,
                                       const Plan& plan);

// The same for a strategy that splits weights on a mesh without an axis for it.
std::vector<std::string> WhyWeightsStay(const PlanRequest& request,
                                        const Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_BATCH_AXIS_H_
