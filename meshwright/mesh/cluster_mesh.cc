#include "meshwright/mesh/cluster_mesh.h"

#include <algorithm>
#include <set>
#include <utility>

#include "meshwright/base/check.h"

namespace meshwright {
namespace {

using Groups = std::vector<std::vector<int64_t>>;  // Devices of the cluster.

int64_t LongestRunOfEqual(const std::vector<int64_t>& sorted) {
  int64_t longest = 0, run = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    run = i > 0 && sorted[i] == sorted[i - 1] ? run + 1 : 1;
    longest = std::max(longest, run);
  }
  return longest;
}

// Blocks of `inner` devices that `group` has members in, within one block of
// `outer` devices.
int64_t Parts(const std::vector<int64_t>& group, int64_t inner, int64_t outer) {
  std::vector<int64_t> blocks;
  for (const int64_t device : group) blocks.push_back(device / inner);
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  for (int64_t& block : blocks) block /= outer / inner;
  return LongestRunOfEqual(blocks);
}

LinkUse UseOf(const Cluster& cluster, int32_t index, const Groups& groups) {
  const LinkLevel& level = cluster.levels[index];
  const int64_t inner = index == 0 ? 1 : cluster.levels[index - 1].devices;
  LinkUse use{.level = index};
  std::vector<int64_t> used_ports;  // Once per group.
  for (const std::vector<int64_t>& group : groups) {
    const int64_t parts = Parts(group, inner, level.devices);
    if (parts < 2) continue;
    use.parts = std::max(use.parts, parts);
    std::vector<int64_t> ports;
    for (const int64_t device : group) {
      ports.push_back(device / level.port_devices);
    }
    std::sort(ports.begin(), ports.end());
    use.members = std::max(use.members, LongestRunOfEqual(ports));
    ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
    used_ports.insert(used_ports.end(), ports.begin(), ports.end());
  }
  std::sort(used_ports.begin(), used_ports.end());
  use.groups = std::max<int64_t>(1, LongestRunOfEqual(used_ports));
  return use;
}

// Appends to `shapes` the products of exactly `count` factors above 1.
void Factorise(int64_t size, int count, std::vector<int64_t>& prefix,
               std::vector<std::vector<int64_t>>& shapes) {
  if (count == 1) {
    if (size == 1) return;
    prefix.push_back(size);
    shapes.push_back(prefix);
    prefix.pop_back();
    return;
  }
  for (int64_t factor = size / 2; factor >= 2; --factor) {
    if (size % factor != 0) continue;
    prefix.push_back(factor);
    Factorise(size / factor, count - 1, prefix, shapes);
    prefix.pop_back();
  }
}

LaidMesh Lay(const Cluster& cluster, const std::vector<int64_t>& shape) {
  static constexpr const char* kNames[] = {"x", "y", "z"};
  std::vector<MeshAxis> axes;
  for (size_t i = 0; i < shape.size(); ++i)
    axes.push_back({kNames[i], shape[i]});
  LaidMesh laid{Mesh::Create(std::move(axes)).value(), {}};
  for (int32_t axis = 0; axis < std::ssize(shape); ++axis) {
    laid.axis_levels.push_back(
        LinkOf(cluster, laid.mesh, laid.mesh.SubAxes(axis)).level);
  }
  return laid;
}

}  // namespace

std::vector<LinkUse> LinksOf(const Cluster& cluster, const Mesh& mesh,
                             const AxisList& axes, int64_t first_device) {
  MW_CHECK(first_device >= 0 &&
           first_device + mesh.device_count() <= cluster.device_count());
  std::vector<LinkUse> uses;
  if (axes.empty()) return uses;
  Groups groups = mesh.Groups(axes);
  for (std::vector<int64_t>& group : groups) {
    for (int64_t& device : group) device += first_device;
  }
  for (int32_t level = 0; level < std::ssize(cluster.levels); ++level) {
    const LinkUse use = UseOf(cluster, level, groups);
    if (use.parts >= 2) uses.push_back(use);
  }
  return uses;
}

LinkUse LinkOf(const Cluster& cluster, const Mesh& mesh, const AxisList& axes,
               int64_t first_device) {
  const std::vector<LinkUse> uses = LinksOf(cluster, mesh, axes, first_device);
  return uses.empty() ? LinkUse() : uses.back();
}

std::vector<LaidMesh> MeshesOn(const Cluster& cluster, int64_t device_count,
                               int max_axes) {
  MW_CHECK(device_count >= 1 && device_count <= cluster.device_count());
  MW_CHECK(max_axes >= 1 && max_axes <= 3);
  std::vector<std::vector<int64_t>> shapes;
  std::vector<int64_t> prefix;
  for (int count = 1; count <= max_axes; ++count) {
    Factorise(device_count, count, prefix, shapes);
  }
  if (shapes.empty()) shapes.push_back({1});  // One device.
  std::vector<LaidMesh> meshes;
  for (const std::vector<int64_t>& shape : shapes) {
    meshes.push_back(Lay(cluster, shape));
  }
  return meshes;
}

}  // namespace meshwright
