// How a mesh is mapped to a cluster: which links the groups along its axes
// use.
//
//   two hosts of 4 devices, mesh data=2,model=4:
//   LinkOf(cluster, mesh, {model})   level 0 (host), 4 parts
//   LinkOf(cluster, mesh, {data})    level 1 (cluster), 2 parts of 1 member;
//                                    4 groups send through one host's port
//   mesh data=4,model=2:
//   LinkOf(cluster, mesh, {data})    level 1, 2 parts of 2 members, 2 groups
#ifndef MESHWRIGHT_MESH_CLUSTER_MESH_H_
#define MESHWRIGHT_MESH_CLUSTER_MESH_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "meshwright/mesh/axis_list.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/mesh/mesh.h"

namespace meshwright {

// The use that the groups of a collective, all running concurrently, make of
// the links of one level. If groups or ports differ, the maximum.
struct LinkUse {
  int32_t level = -1;  // Into Cluster::levels; -1 for groups of one device.
  // How many blocks of the level below a group has members in, within one block
  // of this level; at least 2.
  int64_t parts = 1;
  // Members of one group behind one port (LinkLevel::port_devices).
  int64_t members = 1;
  // Groups that send through one port.
  int64_t groups = 1;

  bool operator==(const LinkUse&) const = default;
};

// For one level, by device of the cluster: its block, its block of the level
// below, and its port.
struct LevelBlocks {
  std::vector<int32_t> inner, outer, port;
};

// The links of a mesh, for many sets of axes. Device i of the mesh is device
// `first_device` + i of the cluster; both must outlive this. Takes time in the
// number of devices after which the alignment of hosts and mesh repeats, not in
// the size of the cluster: 40 for hosts of 8 and inner axes of 5. (The whole
// cluster for a mesh that begins within a host, or lists its devices.)
// Requires: the mesh's devices exist.
class MeshLinks {
 public:
  MeshLinks(const Cluster& cluster, const Mesh& mesh, int64_t first_device);

  // For every level that groups over `axes` cross, innermost first; empty for
  // groups of one device.
  std::vector<LinkUse> Of(const AxisList& axes);

 private:
  // All groups, concatenated; the devices of each ascend.
  std::vector<int64_t> GroupsOf(const AxisList& axes) const;

  const Cluster& cluster_;
  const Mesh& mesh_;
  int64_t first_device_;
  // The number of outermost sub-axes along which the alignment with blocks
  // repeats.
  int repeated_ = 0;
  std::vector<LevelBlocks> levels_;  // Computed when first needed.
  // By the other sub-axes, and whether repeated ones are among the axes.
  std::map<std::pair<uint32_t, bool>, std::vector<LinkUse>> known_;
};

std::vector<LinkUse> LinksOf(const Cluster& cluster, const Mesh& mesh,
                             const AxisList& axes, int64_t first_device = 0);

// For the outermost level crossed, which is the slowest part of a collective.
LinkUse LinkOf(const Cluster& cluster, const Mesh& mesh, const AxisList& axes,
               int64_t first_device = 0);

// Every way to write `device_count` as a product of at most `max_axes` (1 to 3)
// ordered factors above 1, as meshes with axes "x", "y", "z" on the first
// devices of the cluster; the first axis varies slowest, so that it spans the
// outermost links. By number of axes, then by sizes, largest first axis first.
//   16 devices, 2 axes: x=16; x=8,y=2; x=4,y=4; x=2,y=8
// Requires: 1 <= device_count.
std::vector<Mesh> MeshesOn(int64_t device_count, int max_axes = 3);

}  // namespace meshwright

#endif  // MESHWRIGHT_MESH_CLUSTER_MESH_H_
