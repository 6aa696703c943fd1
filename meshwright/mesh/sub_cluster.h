// The first devices of a cluster, as a cluster.
//
//   h200:64x8, 16 devices: h200:2x8; 4 devices: h200:4
#ifndef MESHWRIGHT_MESH_SUB_CLUSTER_H_
#define MESHWRIGHT_MESH_SUB_CLUSTER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "meshwright/mesh/cluster.h"

namespace meshwright {

// kInvalidArgument unless they are whole hosts or part of one, and whole blocks
// of every link level or part of one. Requires: Check(cluster).
absl::StatusOr<Cluster> FirstDevices(const Cluster& cluster, int64_t devices);

}  // namespace meshwright

#endif  // MESHWRIGHT_MESH_SUB_CLUSTER_H_
