#include "meshwright/planner/island_meshes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/annotations/island_fit.h"
#include "meshwright/rules/island.h"

namespace meshwright {
namespace {

// `mesh` with an axis in front for the other devices; as it is if all are no
// multiple of its own.
Mesh Extended(const Mesh& mesh, int64_t devices) {
  const int64_t own = mesh.device_count();
  if (devices % own != 0 || devices == own) return mesh;
  std::string name = "rest";
  while (mesh.FindAxis(name).has_value()) name += "_";
  std::vector<MeshAxis> axes = mesh.axes();
  axes.insert(axes.begin(), {name, devices / own});
  return Mesh::Create(std::move(axes)).value_or(mesh);
}

const Instruction* IslandWith(const Module& module, const Mesh& mesh) {
  const std::vector<const Instruction*> islands = IslandsIn(module);
  return *std::ranges::find_if(islands, [&](const Instruction* instruction) {
    const absl::StatusOr<Island> island = IslandOf(*instruction);
    return island.ok() && island->mesh == mesh;
  });
}

}  // namespace

absl::Status KeepIslandMeshes(const Module& module, const Cluster& cluster,
                              const PlanRequest& request,
                              std::vector<Mesh>& meshes) {
  const std::vector<Mesh> own = IslandMeshes(module);
  if (own.empty()) return absl::OkStatus();
  const absl::Status first = CheckIslands(module, meshes[0]);
  for (const Mesh& mesh : own) {
    if (mesh.device_count() <= cluster.device_count()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(RegionName(*IslandWith(module, mesh)), " needs ",
                     mesh.device_count(), " devices (", mesh.ToString(),
                     "), the cluster has ", cluster.device_count()));
  }
  if (!request.mesh.has_value()) {
    std::vector<Mesh> all;
    for (const Mesh& mesh : own) {
      all.push_back(Extended(mesh, cluster.device_count()));
    }
    all.insert(all.end(), meshes.begin(), meshes.end());
    meshes = std::move(all);
  }
  std::erase_if(meshes, [&](const Mesh& mesh) {
    return !CheckIslands(module, mesh).ok();
  });
  return meshes.empty() ? first : absl::OkStatus();
}

}  // namespace meshwright
