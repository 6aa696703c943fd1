#include "meshwright/planner/meshes_to_try.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/mesh/cluster_mesh.h"
#include "meshwright/search/memory_points.h"

namespace meshwright {
namespace {

// Those first whose inner axes fill a host, since communication over other axes
// is slower.
void SortByHost(const Cluster& cluster, std::vector<Mesh>& meshes) {
  const double host = static_cast<double>(cluster.devices_per_host());
  const auto away = [&](const Mesh& mesh) {
    return std::abs(
        std::log(static_cast<double>(mesh.axes().back().size) / host));
  };
  std::stable_sort(
      meshes.begin(), meshes.end(),
      [&](const Mesh& a, const Mesh& b) { return away(a) < away(b); });
}

}  // namespace

int MostAxes(Expert expert) {
  return IsRecipe(expert) && !SplitsWeights(expert) ? 1 : 2;
}

absl::StatusOr<std::vector<Mesh>> MeshesToTry(const Cluster& cluster,
                                              const PlanRequest& request) {
  if (request.mesh.has_value()) {
    const int64_t devices = request.mesh->device_count();
    if (devices > cluster.device_count()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the mesh ", request.mesh->ToString(), " has ", devices,
                       " devices, the cluster ", cluster.device_count()));
    }
    return std::vector<Mesh>{*request.mesh};
  }
  std::vector<Mesh> meshes =
      MeshesOfStage(cluster, cluster.device_count(), request.expert);
  // One axis first, which is searched quickly and gives a warm start for two.
  std::stable_sort(meshes.begin(), meshes.end(),
                   [](const Mesh& a, const Mesh& b) {
                     return a.axes().size() < b.axes().size();
                   });
  return meshes;
}

std::vector<Mesh> MeshesOfStage(const Cluster& cluster, int64_t devices,
                                Expert expert) {
  std::vector<Mesh> meshes = MeshesOn(devices, MostAxes(expert));
  SortByHost(cluster, meshes);
  return meshes;
}

std::vector<int64_t> CountsToTry(const StepModel& model,
                                 const std::vector<Mesh>& meshes,
                                 int64_t memory, int64_t examples) {
  const MemoryNeed need = LeastMemory(model);
  const int64_t batch = BatchSize(model);
  const double room = static_cast<double>(memory) *
                          static_cast<double>(meshes[0].device_count()) -
                      need.state;
  std::set<int64_t> counts = {1};
  for (const Mesh& mesh : meshes) {
    for (const MeshAxis& axis : mesh.axes()) {
      for (int64_t more = 1; more <= examples; more *= 2) {
        const int64_t size = axis.size * more;
        if (batch % size == 0) counts.insert(batch / size);
      }
    }
  }
  std::vector<int64_t> kept;
  for (const int64_t count : counts) {
    if (need.rest / static_cast<double>(count) <= room) kept.push_back(count);
  }
  if (kept.empty()) kept.push_back(1);
  return kept;
}

bool Suits(const Mesh& mesh, int64_t examples) {
  return std::any_of(
      mesh.axes().begin(), mesh.axes().end(),
      [&](const MeshAxis& axis) { return examples % axis.size == 0; });
}

bool IsHopeless(const Mesh& mesh, const std::vector<SettingTime>& times,
                const SearchPolicy& policy) {
  std::vector<SettingTime> same_rank;  // With as many axes.
  double least = std::numeric_limits<double>::infinity();
  for (const SettingTime& one : times) {
    least = std::min(least, one.seconds);
    if (one.setting.mesh.axes().size() == mesh.axes().size())
      same_rank.push_back(one);
  }
  if (same_rank.empty()) return false;
  const auto inner = [](const Mesh& of) { return of.axes().back().size; };
  const auto is_slow = [&](const SettingTime& one) {
    return one.seconds > policy.enumerate.hopeless * least;
  };
  const auto is_itself = [&](const SettingTime& one) {
    return one.setting.mesh == mesh;
  };
  if (std::ranges::any_of(same_rank, is_itself)) {
    return std::ranges::all_of(same_rank, [&](const SettingTime& one) {
      return !is_itself(one) || is_slow(one);
    });
  }
  const auto best =
      std::ranges::min_element(same_rank, {}, &SettingTime::seconds);
  const int64_t low = std::min(inner(best->setting.mesh), inner(mesh));
  const int64_t high = std::max(inner(best->setting.mesh), inner(mesh));
  return std::ranges::any_of(same_rank, [&](const SettingTime& one) {
    return is_slow(one) && low < inner(one.setting.mesh) &&
           inner(one.setting.mesh) < high;
  });
}

}  // namespace meshwright
