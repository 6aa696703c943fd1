// Replica groups given as axes of a mesh.
//
//   axes of sizes {2, 2, 2}, groups over axis 2:     {{0,1}, {2,3}, {4,5},
//   {6,7}} over axes 0 and 2:                               {{0,1,4,5},
//   {2,3,6,7}} one axis of size 4, over its part {pre 2, 2}:    {{0,1}, {2,3}}
#ifndef MESHWRIGHT_HLO_MESH_GROUPS_H_
#define MESHWRIGHT_HLO_MESH_GROUPS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace meshwright {

// An axis, or the part of it of `size` steps that `pre_size` major parts leave.
struct MeshAxisPart {
  int64_t axis = 0;
  int64_t pre_size = 1;
  int64_t size = 0;  // 0: the whole axis.
};

// In each group are the devices that differ along `parts` only, major first.
// `devices` is empty where they are numbered row-major. Fails if parts overlap
// or do not divide their axes, and for meshes as ExpandIotaGroups does.
absl::StatusOr<std::vector<std::vector<int64_t>>> ExpandMeshGroups(
    const std::vector<int64_t>& axis_sizes, const std::vector<int64_t>& devices,
    const std::vector<MeshAxisPart>& parts);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_MESH_GROUPS_H_
