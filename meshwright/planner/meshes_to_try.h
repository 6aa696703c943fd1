// The logical meshes of a cluster's devices that are worth planning for.
#ifndef MESHWRIGHT_PLANNER_MESHES_TO_TRY_H_
#define MESHWRIGHT_PLANNER_MESHES_TO_TRY_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/planner/planner.h"
#include "meshwright/planner/search_policy.h"
#include "meshwright/planner/setting.h"
#include "meshwright/search/step_model.h"

namespace meshwright {

// Of the meshes that are tried for a strategy. Those of one axis are included
// in those of two with the other unused, but are searched more quickly.
int MostAxes(Expert expert);

// The requested mesh, or else all meshes of up to MostAxes axes; first those
// whose inner axis is nearest to the number of devices of a host.
// kInvalidArgument if the requested mesh needs more devices than there are.
absl::StatusOr<std::vector<Mesh>> MeshesToTry(const Cluster& cluster,
                                              const PlanRequest& request);

// The same for a pipeline stage of `devices` devices, whatever the number of
// axes.
std::vector<Mesh> MeshesOfStage(const Cluster& cluster, int64_t devices,
                                Expert expert);

// Micro-batch counts worth trying, ascending: starting with the first that may
// fit into `memory` bytes per device, those that leave each position along an
// axis of some mesh a few examples per micro-batch: 1, 2, 4, ... up to
// `examples`.
std::vector<int64_t> CountsToTry(const StepModel& model,
                                 const std::vector<Mesh>& meshes,
                                 int64_t memory, int64_t examples);

// Whether some axis divides the number of examples of a micro-batch.
bool Suits(const Mesh& mesh, int64_t examples);

// The estimated time of the best strategies that were found in a setting.
struct SettingTime {
  Setting setting;
  double seconds = 0;
};

// Whether everything tried on the mesh was far behind the best; or on a mesh
// that lies between it and the best one of as many axes.
bool IsHopeless(const Mesh& mesh, const std::vector<SettingTime>& times,
                const SearchPolicy& policy);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_MESHES_TO_TRY_H_
