// The meshes that have the axes which the shard_map regions of a step name.
#ifndef MESHWRIGHT_PLANNER_ISLAND_MESHES_H_
#define MESHWRIGHT_PLANNER_ISLAND_MESHES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/planner/planner.h"

namespace meshwright {

// Removes from `meshes` those that lack the axes of some island. Unless the
// user asked for a mesh, adds the islands' own meshes in front, with one more
// axis for the remaining devices. kInvalidArgument, naming the region and its
// axes, if no mesh is left.
absl::Status KeepIslandMeshes(const Module& module, const Cluster& cluster,
                              const PlanRequest& request,
                              std::vector<Mesh>& meshes);

// The same for a stage of so many devices, without a mesh that was asked for:
// the islands' own first, none if none has room.
std::vector<Mesh> IslandMeshesOfStage(const Module& module, int64_t devices,
                                      std::vector<Mesh> meshes);

// kInvalidArgument, naming the region and its axes: why none had, of `parts`
// parts of the cluster.
absl::Status NoIslandMeshOfStage(const Module& module, const Cluster& cluster,
                                 int64_t parts);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_ISLAND_MESHES_H_
