// The meshes on which the shard_map regions of a step have their axes.
#ifndef MESHWRIGHT_PLANNER_ISLAND_MESHES_H_
#define MESHWRIGHT_PLANNER_ISLAND_MESHES_H_

#include <vector>

#include "absl/status/status.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/planner/planner.h"

namespace meshwright {

// Leaves those of `meshes` that have room for all islands; unless a mesh was
// asked for, the islands' own come first, with an axis for what devices they
// leave. kInvalidArgument, naming the region and its axes, if there are none.
absl::Status KeepIslandMeshes(const Module& module, const Cluster& cluster,
                              const PlanRequest& request,
                              std::vector<Mesh>& meshes);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_ISLAND_MESHES_H_
