#include "meshwright/mesh/cluster_mesh.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/types/span.h"
#include "meshwright/base/check.h"

namespace meshwright {
namespace {

// The largest number of inner blocks, within one outer block, that contain some
// of `places`, which ascend.
int64_t Parts(absl::Span<const int64_t> places, const LevelBlocks& blocks) {
  int64_t most = 0, parts = 0;
  int32_t inner = -1, outer = -1;  // Blocks of the previous place.
  for (const int64_t place : places) {
    if (blocks.outer[place] != outer) {
      parts = 1;
    } else if (blocks.inner[place] != inner) {
      ++parts;
    }
    outer = blocks.outer[place];
    inner = blocks.inner[place];
    most = std::max(most, parts);
  }
  return most;
}

// Adds the group to the count of every port that it uses; returns the most
// members at one port.
int64_t UsePorts(absl::Span<const int64_t> places, const LevelBlocks& blocks,
                 std::vector<int64_t>& groups_at) {
  int64_t most = 0, members = 0;
  int32_t before = -1;
  for (const int64_t place : places) {
    const int32_t port = blocks.port[place];
    if (port != before) {
      members = 0;
      ++groups_at[port];
    }
    before = port;
    most = std::max(most, ++members);
  }
  return most;
}

// How groups use a level. Each stands for `times` as many members, which are in
// other blocks of all levels but the last.
LinkUse UseOf(const std::vector<LevelBlocks>& levels, int32_t index,
              absl::Span<const int64_t> groups, size_t group_size,
              int64_t times) {
  const LevelBlocks& blocks = levels[index];
  const bool is_last = index + 1 == std::ssize(levels);
  LinkUse use{.level = index};
  std::vector<int64_t> groups_at(blocks.port.back() + 1);
  for (size_t at = 0; at < groups.size(); at += group_size) {
    const auto group = groups.subspan(at, group_size);
    const int64_t parts = Parts(group, blocks) * (is_last ? times : 1);
    if (parts < 2) continue;
    use.parts = std::max(use.parts, parts);
    use.members = std::max(use.members, UsePorts(group, blocks, groups_at));
  }
  for (const int64_t count : groups_at) {
    use.groups = std::max(use.groups, count);
  }
  return use;
}

// The blocks of the first `count` places.
std::vector<LevelBlocks> BlocksOf(const Cluster& cluster, int64_t count) {
  std::vector<LevelBlocks> levels;
  int64_t inner = 1;
  for (const LinkLevel& level : cluster.levels) {
    LevelBlocks& blocks = levels.emplace_back();
    for (int64_t place = 0; place < count; ++place) {
      blocks.inner.push_back(static_cast<int32_t>(place / inner));
      blocks.outer.push_back(static_cast<int32_t>(place / level.devices));
      blocks.port.push_back(static_cast<int32_t>(place / level.port_devices));
    }
    inner = level.devices;
  }
  return levels;
}

// After this many devices, blocks and ports repeat, except for the block that
// joins everything.
int64_t PeriodOf(const Cluster& cluster) {
  int64_t period = 1;
  for (size_t i = 0; i < cluster.levels.size(); ++i) {
    const LinkLevel& level = cluster.levels[i];
    period = std::lcm(period, level.port_devices);
    if (i + 1 < cluster.levels.size()) {
      period = std::lcm(period, level.devices);
    }
  }
  return period;
}

// Repeats all of `places` `size` times, `stride` apart.
void Repeat(int64_t size, int64_t stride, std::vector<int64_t>& places) {
  const size_t count = places.size();
  for (int64_t i = 1; i < size; ++i) {
    for (size_t at = 0; at < count; ++at) {
      places.push_back(places[at] + i * stride);
    }
  }
}

// Appends to `shapes` all factorisations into exactly `count` factors above 1.
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

}  // namespace

MeshLinks::MeshLinks(const Cluster& cluster, const Mesh& mesh,
                     int64_t first_device)
    : cluster_(cluster), mesh_(mesh), first_device_(first_device) {
  MW_CHECK(first_device >= 0 &&
           first_device + mesh.device_count() <= cluster.device_count());
  const int64_t period = PeriodOf(cluster);
  if (!mesh.device_ids().empty() || first_device % period != 0) return;
  int64_t stride = mesh.device_count();
  for (const SubAxis& axis : mesh.sub_axes()) {
    stride /= axis.size;
    if (stride % period != 0) break;
    ++repeated_;
  }
}

std::vector<LinkUse> MeshLinks::Of(const AxisList& axes) {
  if (axes.empty()) return {};
  int64_t times = 1;
  AxisList others;
  for (const AxisId axis : axes) {
    if (axis < repeated_) {
      times *= mesh_.Size(axis);
    } else {
      others.push_back(axis);
    }
  }
  // Computed once for all values of `times` above one.
  const auto [found, is_new] =
      known_.try_emplace({others.Bits(), times > 1}, std::vector<LinkUse>());
  std::vector<LinkUse>& uses = found->second;
  const int64_t known_times = std::min<int64_t>(times, 2);
  if (is_new) {
    const std::vector<int64_t> groups = GroupsOf(others);
    if (levels_.empty()) {
      levels_ = BlocksOf(cluster_, 1 + std::ranges::max(groups));
    }
    for (int32_t level = 0; level < std::ssize(cluster_.levels); ++level) {
      const LinkUse use =
          UseOf(levels_, level, groups, static_cast<size_t>(mesh_.Size(others)),
                known_times);
      if (use.parts >= 2) uses.push_back(use);
    }
  }
  std::vector<LinkUse> result = uses;
  if (times > 1) {
    LinkUse& last = result.back();
    last.parts = last.parts / known_times * times;
  }
  return result;
}

std::vector<int64_t> MeshLinks::GroupsOf(const AxisList& axes) const {
  std::vector<int64_t> groups;
  if (!mesh_.device_ids().empty()) {
    for (std::vector<int64_t>& group : mesh_.Groups(axes)) {
      std::sort(group.begin(), group.end());
      for (const int64_t device : group) {
        groups.push_back(first_device_ + device);
      }
    }
    return groups;
  }
  // From the innermost sub-axis outwards, so that places ascend.
  std::vector<int64_t> firsts = {first_device_};
  std::vector<int64_t> members = {0};
  int64_t stride = 1;
  for (int axis = static_cast<int>(mesh_.sub_axes().size()) - 1;
       axis >= repeated_; --axis) {
    const AxisId id = static_cast<AxisId>(axis);
    Repeat(mesh_.Size(id), stride, axes.Contains(id) ? members : firsts);
    stride *= mesh_.Size(id);
  }
  for (const int64_t first : firsts) {
    for (const int64_t member : members) groups.push_back(first + member);
  }
  return groups;
}

std::vector<LinkUse> LinksOf(const Cluster& cluster, const Mesh& mesh,
                             const AxisList& axes, int64_t first_device) {
  return MeshLinks(cluster, mesh, first_device).Of(axes);
}

LinkUse LinkOf(const Cluster& cluster, const Mesh& mesh, const AxisList& axes,
               int64_t first_device) {
  const std::vector<LinkUse> uses = LinksOf(cluster, mesh, axes, first_device);
  return uses.empty() ? LinkUse() : uses.back();
}

std::vector<Mesh> MeshesOn(int64_t device_count, int max_axes) {
  MW_CHECK(device_count >= 1 && max_axes >= 1 && max_axes <= 3);
  std::vector<std::vector<int64_t>> shapes;
  std::vector<int64_t> prefix;
  for (int count = 1; count <= max_axes; ++count) {
    Factorise(device_count, count, prefix, shapes);
  }
  if (shapes.empty()) shapes.push_back({1});  // One device.
  static constexpr const char* kNames[] = {"x", "y", "z"};
  std::vector<Mesh> meshes;
  for (const std::vector<int64_t>& shape : shapes) {
    std::vector<MeshAxis> axes;
    for (size_t i = 0; i < shape.size(); ++i) {
      axes.push_back({kNames[i], shape[i]});
    }
    meshes.push_back(Mesh::Create(std::move(axes)).value());
  }
  return meshes;
}

}  // namespace meshwright
