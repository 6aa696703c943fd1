#include "meshwright/annotations/op_sharding_conversion.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

template <typename... Args>
absl::Status BadSharding(const OpSharding& annotation, const Args&... args) {
  return absl::InvalidArgumentError(
      absl::StrCat("sharding ", annotation.ToString(), " ", args...));
}

// The kinds of the tile dimensions after the array's own.
std::vector<OpSharding::Kind> TrailingKinds(const OpSharding& annotation) {
  std::vector<OpSharding::Kind> kinds = annotation.last_tile_dims;
  if (annotation.replicate_on_last_tile_dim) {
    kinds.push_back(OpSharding::Kind::kReplicated);
  }
  return kinds;
}

absl::Status CheckTiles(const OpSharding& annotation, size_t rank,
                        const Mesh& mesh) {
  if (annotation.tile_dimensions.empty()) {
    return BadSharding(annotation, "has no tiles");
  }
  const std::vector<OpSharding::Kind> kinds = TrailingKinds(annotation);
  const size_t trailing = kinds.size();
  if (annotation.tile_dimensions.size() != rank + trailing) {
    return BadSharding(annotation, "is for ",
                       annotation.tile_dimensions.size() - trailing,
                       " dimensions, the tensor has ", rank);
  }
  for (size_t i = 0; i < trailing; ++i) {
    if (annotation.tile_dimensions[rank + i] > 1 &&
        kinds[i] != OpSharding::Kind::kReplicated &&
        kinds[i] != OpSharding::Kind::kUnreduced) {
      return BadSharding(annotation,
                         "is partly manual, which is not supported");
    }
  }
  int64_t tiles = 1;
  for (const int64_t count : annotation.tile_dimensions) {
    if (count < 1)
      return BadSharding(annotation, "has a dimension of no tiles");
    if (__builtin_mul_overflow(tiles, count, &tiles)) tiles = -1;
  }
  if (tiles != mesh.device_count()) {
    return BadSharding(annotation, "is for ", tiles, " devices, the mesh ",
                       mesh.ToString(), " has ", mesh.device_count());
  }
  return absl::OkStatus();
}

// The sub-axes that number `tiles` tiles, where device d has tile
// tile_of_device[d]; nullopt if there are none.
std::optional<AxisList> FindAxes(std::vector<int64_t> tile_of_device,
                                 int64_t tiles, const Mesh& mesh) {
  AxisList result;
  // From the most major digit on.
  while (tiles > 1) {
    const auto fits = [&](AxisId axis) {
      if (tiles % mesh.Size(axis) != 0) return false;
      const int64_t minor = tiles / mesh.Size(axis);
      for (int64_t device = 0; device < mesh.device_count(); ++device) {
        if (mesh.Coordinate(device, {axis}) != tile_of_device[device] / minor) {
          return false;
        }
      }
      return true;
    };
    const AxisList all = mesh.AllSubAxes();
    const auto* found = std::find_if(all.begin(), all.end(), fits);
    if (found == all.end()) return std::nullopt;
    result.push_back(*found);
    tiles /= mesh.Size(*found);
    for (int64_t& tile : tile_of_device) tile %= tiles;
  }
  return result;
}

// By device: the index of its tile along a tile dimension.
std::vector<int64_t> TilesAlong(const OpSharding& annotation,
                                absl::Span<const int64_t> devices, size_t dim) {
  int64_t stride = 1;
  for (size_t i = dim + 1; i < annotation.tile_dimensions.size(); ++i) {
    stride *= annotation.tile_dimensions[i];
  }
  std::vector<int64_t> tiles(devices.size());
  for (int64_t i = 0; i < std::ssize(devices); ++i) {
    tiles[devices[i]] = i / stride % annotation.tile_dimensions[dim];
  }
  return tiles;
}

absl::Status CheckDevices(const OpSharding& annotation,
                          absl::Span<const int64_t> devices, int64_t count) {
  std::vector<bool> seen(count, false);
  for (const int64_t device : devices) {
    if (device < 0 || device >= count || seen[device]) {
      return BadSharding(annotation, "does not name each of the devices 0 to ",
                         count - 1, " once");
    }
    seen[device] = true;
  }
  if (std::ssize(devices) == count) return absl::OkStatus();
  return BadSharding(annotation, "names ", devices.size(), " devices, not ",
                     count);
}

absl::StatusOr<Sharding> FromTiled(const OpSharding& annotation,
                                   absl::Span<const int64_t> dimensions,
                                   const Mesh& mesh) {
  const size_t rank = dimensions.size();
  MW_RETURN_IF_ERROR(CheckTiles(annotation, rank, mesh));
  MW_ASSIGN_OR_RETURN(const std::vector<int64_t> devices,
                      TileDevices(annotation));
  MW_RETURN_IF_ERROR(CheckDevices(annotation, devices, mesh.device_count()));
  const std::vector<OpSharding::Kind> kinds = TrailingKinds(annotation);
  Sharding result = Sharding::Replicated(dimensions);
  for (size_t dim = 0; dim < annotation.tile_dimensions.size(); ++dim) {
    const bool trailing = dim >= rank;
    if (trailing && kinds[dim - rank] != OpSharding::Kind::kUnreduced) continue;
    const std::optional<AxisList> axes =
        FindAxes(TilesAlong(annotation, devices, dim),
                 annotation.tile_dimensions[dim], mesh);
    if (!axes.has_value()) {
      return BadSharding(annotation, "does not follow the axes of the mesh ",
                         mesh.ToString(), ": no part of them makes the ",
                         annotation.tile_dimensions[dim],
                         " tiles of dimension ", dim);
    }
    if (trailing) {
      result.pending.Append(*axes);
    } else {
      result.dims[dim][0].axes = *axes;
    }
  }
  std::sort(result.pending.begin(), result.pending.end());
  return result;
}

// Sets tiles numbered by `axes`, as an iota over runs of adjacent sub-axes.
void SetIota(const AxisList& axes, const Mesh& mesh, OpSharding& annotation) {
  std::vector<AxisList> runs;
  for (const AxisId axis : axes) {
    if (runs.empty() || runs.back().back() + 1 != axis) runs.emplace_back();
    runs.back().push_back(axis);
  }
  std::vector<AxisList> sorted = runs;
  std::sort(sorted.begin(), sorted.end());
  for (const AxisList& run : sorted) {
    annotation.iota_reshape_dims.push_back(mesh.Size(run));
  }
  for (const AxisList& run : runs) {
    const auto place = std::find(sorted.begin(), sorted.end(), run);
    annotation.iota_transpose_perm.push_back(
        static_cast<int32_t>(place - sorted.begin()));
  }
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> TileDevices(const OpSharding& annotation) {
  if (annotation.iota_reshape_dims.empty()) return annotation.devices;
  return ExpandIota(annotation.iota_reshape_dims,
                    annotation.iota_transpose_perm);
}

absl::StatusOr<Sharding> FromOpSharding(const OpSharding& annotation,
                                        absl::Span<const int64_t> dimensions,
                                        const Mesh& mesh) {
  switch (annotation.kind) {
    case OpSharding::Kind::kReplicated:
      return Sharding::Replicated(dimensions);
    case OpSharding::Kind::kTiled:
      return FromTiled(annotation, dimensions, mesh);
    case OpSharding::Kind::kTuple:
      return BadSharding(annotation, "is for a tuple, the tensor is an array");
    default:
      return BadSharding(annotation,
                         "is not supported; only tiled and replicated are");
  }
}

absl::StatusOr<OpSharding> ToOpSharding(const Sharding& sharding,
                                        const Mesh& mesh) {
  OpSharding result;
  if (sharding.IsPending()) {
    return absl::InvalidArgumentError(
        "HLO has no annotation for a sharding with a pending reduction");
  }
  AxisList axes;
  for (const DimSharding& dim : sharding.dims) {
    if (IsStrided(dim)) {
      return absl::InvalidArgumentError(
          "HLO has no annotation for a strided sharding");
    }
    axes.Append(dim[0].axes);
    result.tile_dimensions.push_back(mesh.Size(dim[0].axes));
  }
  if (axes.empty()) return OpSharding();
  const int64_t tiles = mesh.Size(axes);
  for (const AxisId axis : mesh.AllSubAxes()) {
    if (!axes.Contains(axis)) axes.push_back(axis);
  }
  result.kind = OpSharding::Kind::kTiled;
  result.replicate_on_last_tile_dim = tiles < mesh.device_count();
  if (result.replicate_on_last_tile_dim) {
    result.tile_dimensions.push_back(mesh.device_count() / tiles);
  }
  if (mesh.device_ids().empty()) {
    SetIota(axes, mesh, result);
  } else {
    result.devices = mesh.Groups(axes)[0];
  }
  return result;
}

}  // namespace meshwright
