#include "meshwright/annotations/infer_mesh.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "meshwright/annotations/island_fit.h"
#include "meshwright/annotations/op_sharding_conversion.h"
#include "meshwright/annotations/raw_annotations.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

absl::Status CheckAll(const RawAnnotations& raw, const Mesh& mesh) {
  for (const RawAnnotation& annotation : raw.list) {
    MW_RETURN_IF_ERROR(OnMesh(annotation, mesh).status());
  }
  return absl::OkStatus();
}

std::vector<Mesh> ListShardyMeshes(const RawAnnotations& raw) {
  std::vector<Mesh> meshes;
  for (const auto& [name, mesh] : raw.meshes) meshes.push_back(mesh);
  for (const RawAnnotation& annotation : raw.list) {
    if (annotation.shardy.has_value()) {
      meshes.push_back(annotation.shardy->mesh);
    }
  }
  return meshes;
}

// The largest of the meshes, if it can express everything.
absl::StatusOr<Mesh> ChooseMesh(std::vector<Mesh> meshes,
                                const RawAnnotations& raw) {
  std::stable_sort(meshes.begin(), meshes.end(),
                   [](const Mesh& a, const Mesh& b) {
                     return a.device_count() > b.device_count();
                   });
  for (const Mesh& mesh : meshes) {
    if (CheckAll(raw, mesh).ok()) return mesh;
  }
  return CheckAll(raw, meshes[0]);
}

// A tiled annotation with its devices expanded.
struct Tiling {
  const RawAnnotation* annotation = nullptr;
  std::vector<int64_t> devices;
};

absl::StatusOr<std::vector<Tiling>> ListTilings(const RawAnnotations& raw) {
  std::vector<Tiling> tilings;
  for (const RawAnnotation& annotation : raw.list) {
    if (annotation.hlo->kind != OpSharding::Kind::kTiled) continue;
    if (annotation.hlo->tile_dimensions.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          annotation.where, ": the sharding has no tiles that can be read"));
    }
    absl::StatusOr<std::vector<int64_t>> devices = TileDevices(*annotation.hlo);
    if (!devices.ok()) return Annotate(devices.status(), annotation.where);
    if (!tilings.empty() && devices->size() != tilings[0].devices.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          annotation.where, " is split over ", devices->size(), " devices, ",
          tilings[0].annotation->where, " over ", tilings[0].devices.size()));
    }
    tilings.push_back({&annotation, *std::move(devices)});
  }
  return tilings;
}

// Adds the boundaries between digits: dividing a device's position by
// `boundary` leaves its more major digits. The positions of tiles 0, 1, ... of
// a dimension are sums of such digits; false if these positions are not.
bool AddBoundaries(std::vector<int64_t> positions,
                   std::set<int64_t>& boundaries) {
  while (positions.size() > 1) {
    const int64_t count = std::ssize(positions);
    const int64_t stride = positions[1] - positions[0];
    if (stride < 1) return false;
    int64_t run = 2;
    while (run < count && positions[run] - positions[0] == run * stride) ++run;
    if (count % run != 0) return false;
    std::vector<int64_t> major;
    for (int64_t i = 0; i < count; i += run) major.push_back(positions[i]);
    boundaries.insert({stride, stride * run});
    positions = std::move(major);
  }
  return true;
}

// The boundaries of the digits that split dimensions if `position` numbers the
// devices.
std::optional<std::set<int64_t>> FindBoundaries(
    const std::vector<Tiling>& tilings, absl::Span<const int64_t> position) {
  const int64_t count = std::ssize(position);
  std::set<int64_t> boundaries = {1, count};
  for (const Tiling& tiling : tilings) {
    int64_t stride = count;
    const std::vector<int64_t>& tiles = tiling.annotation->hlo->tile_dimensions;
    const size_t rank = tiling.annotation->dimensions.size();
    for (size_t dim = 0; dim < std::min(rank, tiles.size()); ++dim) {
      stride /= tiles[dim];
      std::vector<int64_t> positions;
      for (int64_t tile = 0; tile < tiles[dim]; ++tile) {
        positions.push_back(position[tiling.devices[tile * stride]]);
      }
      if (!AddBoundaries(std::move(positions), boundaries)) return std::nullopt;
    }
  }
  int64_t last = 1;
  for (const int64_t boundary : boundaries) {
    if (boundary % last != 0 || count % boundary != 0) return std::nullopt;
    last = boundary;
  }
  return boundaries;
}

// The mesh of devices in this order with an axis between each two boundaries.
absl::StatusOr<Mesh> MakeMesh(const std::set<int64_t>& boundaries,
                              std::vector<int64_t> order) {
  std::vector<MeshAxis> axes;
  int64_t last = *boundaries.rbegin();
  for (auto it = boundaries.rbegin(); it != boundaries.rend(); ++it) {
    if (*it == last) continue;
    const char letter = static_cast<char>('a' + axes.size());
    axes.push_back({std::string(1, letter), last / *it});
    last = *it;
  }
  if (axes.empty()) axes.push_back({"a", 1});
  return Mesh::Create(std::move(axes), std::move(order));
}

absl::Status CheckPermutation(const Tiling& tiling) {
  const int64_t count = std::ssize(tiling.devices);
  std::vector<bool> seen(count, false);
  for (const int64_t device : tiling.devices) {
    if (device < 0 || device >= count || seen[device]) {
      return absl::InvalidArgumentError(absl::StrCat(
          tiling.annotation->where, ": the sharding does not name each of ",
          count, " devices once"));
    }
    seen[device] = true;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Mesh> InferMesh(const Module& module) {
  MW_ASSIGN_OR_RETURN(const RawAnnotations raw, CollectAnnotations(module));
  std::vector<Mesh> meshes = ListShardyMeshes(raw);
  for (Mesh& mesh : IslandMeshes(module)) meshes.push_back(std::move(mesh));
  if (!meshes.empty()) return ChooseMesh(std::move(meshes), raw);
  return MeshOfTiles(raw);
}

absl::StatusOr<Mesh> MeshOfTiles(const RawAnnotations& raw) {
  MW_ASSIGN_OR_RETURN(const std::vector<Tiling> tilings, ListTilings(raw));
  if (tilings.empty()) {
    return absl::NotFoundError(
        "the module has no sharding annotations to take a mesh from");
  }
  for (const Tiling& tiling : tilings) {
    MW_RETURN_IF_ERROR(CheckPermutation(tiling));
  }
  // Devices in ascending order, or else in the order in which an annotation
  // lists them.
  std::vector<int64_t> in_order = tilings[0].devices;
  std::sort(in_order.begin(), in_order.end());
  for (const std::vector<int64_t>& order : {in_order, tilings[0].devices}) {
    std::vector<int64_t> position(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      position[order[i]] = static_cast<int64_t>(i);
    }
    const auto boundaries = FindBoundaries(tilings, position);
    if (!boundaries.has_value()) continue;
    MW_ASSIGN_OR_RETURN(Mesh mesh, MakeMesh(*boundaries, order));
    if (CheckAll(raw, mesh).ok()) return mesh;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no mesh of ", in_order.size(),
                   " devices expresses all sharding annotations"));
}

}  // namespace meshwright
