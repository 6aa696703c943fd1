#include "meshwright/planner/island_meshes.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/annotations/island_fit.h"
#include "meshwright/rules/island.h"

namespace meshwright {
namespace {

// `mesh` with another axis in front for the remaining devices; unchanged if
// their number is not a multiple of its own.
Mesh Extended(const Mesh& mesh, int64_t devices) {
  const int64_t own = mesh.device_count();
  if (devices % own != 0 || devices == own) return mesh;
  std::string name = "rest";
  while (mesh.FindAxis(name).has_value()) name += "_";
  std::vector<MeshAxis> axes = mesh.axes();
  axes.insert(axes.begin(), {name, devices / own});
  return Mesh::Create(std::move(axes)).value_or(mesh);
}

// The islands' own on so many devices in front of the others.
void AddOwn(const std::vector<Mesh>& own, int64_t devices,
            std::vector<Mesh>& meshes) {
  std::vector<Mesh> all;
  for (const Mesh& mesh : own) {
    if (mesh.device_count() <= devices) all.push_back(Extended(mesh, devices));
  }
  all.insert(all.end(), meshes.begin(), meshes.end());
  meshes = std::move(all);
}

void DropUnfit(const Module& module, std::vector<Mesh>& meshes) {
  std::erase_if(meshes, [&](const Mesh& mesh) {
    return !CheckIslands(module, mesh).ok();
  });
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
    AddOwn(own, cluster.device_count(), meshes);
  }
  DropUnfit(module, meshes);
  return meshes.empty() ? first : absl::OkStatus();
}

std::vector<Mesh> IslandMeshesOfStage(const Module& module, int64_t devices,
                                      std::vector<Mesh> meshes) {
  const std::vector<Mesh> own = IslandMeshes(module);
  if (own.empty()) return meshes;
  AddOwn(own, devices, meshes);
  // Of those with too many or too few devices nothing is left.
  std::erase_if(
      meshes, [&](const Mesh& mesh) { return mesh.device_count() != devices; });
  DropUnfit(module, meshes);
  return meshes;
}

absl::Status NoIslandMeshOfStage(const Module& module, const Cluster& cluster,
                                 int64_t parts) {
  const int64_t devices = cluster.device_count() / parts;
  std::vector<Mesh> own = IslandMeshes(module);
  std::ranges::stable_sort(own, std::greater<>(), &Mesh::device_count);
  return absl::InvalidArgumentError(absl::StrCat(
      RegionName(*IslandWith(module, own[0])), " needs axes ",
      own[0].ToString(), ", which a stage of ", devices, " of the ",
      cluster.device_count(),
      " devices does not have; give fewer stages, or more devices"));
}

}  // namespace meshwright
