// The ways to lay out a cluster's devices that are worth planning for.
#ifndef MESHWRIGHT_PLANNER_MESHES_TO_TRY_H_
#define MESHWRIGHT_PLANNER_MESHES_TO_TRY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/planner/planner.h"

namespace meshwright {

// The requested mesh, or all of one and two axes (of as many as an expert's
// strategy has); those whose inner axis is nearest to a host's size first.
// kInvalidArgument when the requested one needs more devices than there are.
absl::StatusOr<std::vector<Mesh>> MeshesToTry(const Cluster& cluster,
                                              const PlanRequest& request);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_MESHES_TO_TRY_H_
