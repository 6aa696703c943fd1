#include "meshwright/partition/gspmd_specs.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "meshwright/annotations/infer_mesh.h"
#include "meshwright/annotations/op_sharding_conversion.h"
#include "meshwright/annotations/raw_annotations.h"
#include "meshwright/base/bad.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/rules/families.h"

namespace meshwright {
namespace {

using Kind = OpSharding::Kind;

bool IsPartly(const OpSharding& sharding) {
  return std::ranges::count(sharding.last_tile_dims, Kind::kManual) > 0;
}

int64_t Product(absl::Span<const int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1},
                         std::multiplies<>());
}

// By device: its number along the manual tile dimensions of `sharding`, in
// which they are major to minor; -1 if it is not the first along all others.
absl::StatusOr<std::vector<int64_t>> PositionsOf(const OpSharding& sharding) {
  MW_ASSIGN_OR_RETURN(const std::vector<int64_t> devices,
                      TileDevices(sharding));
  const std::vector<int64_t>& tiles = sharding.tile_dimensions;
  const size_t first = tiles.size() - sharding.last_tile_dims.size();
  std::vector<int64_t> positions(devices.size(), -1);
  for (size_t i = 0; i < devices.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t position = 0;
    int64_t step = 1;
    for (size_t d = tiles.size(); d-- > 0;) {
      const int64_t at = rest % tiles[d];
      rest /= tiles[d];
      if (d >= first && sharding.last_tile_dims[d - first] == Kind::kManual) {
        position += step * at;
        step *= tiles[d];
      } else if (at != 0) {
        position = -1;
        break;
      }
    }
    if (devices[i] < 0 || devices[i] >= std::ssize(positions)) {
      return Bad("its devices are not numbered from 0 on");
    }
    positions[devices[i]] = position;
  }
  return positions;
}

// The tiles of a whole array, on the devices that have a position alone.
absl::StatusOr<OpSharding> OnPositions(const OpSharding& whole,
                                       const std::vector<int64_t>& positions) {
  if (whole.kind != Kind::kTiled) return whole;
  MW_ASSIGN_OR_RETURN(const std::vector<int64_t> devices, TileDevices(whole));
  if (devices.size() != positions.size() || IsPartly(whole)) {
    return Bad("its arrays are on several meshes");
  }
  size_t trailing = whole.last_tile_dims.size();
  if (whole.replicate_on_last_tile_dim) ++trailing;
  OpSharding found{.kind = Kind::kTiled};
  found.tile_dimensions = whole.tile_dimensions;
  found.tile_dimensions.resize(whole.tile_dimensions.size() - trailing);
  const auto tiles = static_cast<size_t>(Product(found.tile_dimensions));
  const size_t each = devices.size() / tiles;
  for (size_t i = 0; i < devices.size(); ++i) {
    const int64_t position = positions[devices[i]];
    if (position >= 0) found.devices.push_back(position);
    // As many for every tile.
    if ((i + 1) % each == 0 &&
        found.devices.size() * each * tiles !=
            (i + 1) * (positions.size() -
                       std::ranges::count(positions, int64_t{-1}))) {
      return Bad(
          "an array is split along axes that are not manual, too; name all "
          "axes of the mesh in axis_names");
    }
  }
  const auto copies = static_cast<int64_t>(found.devices.size() / tiles);
  if (copies > 1) {
    found.tile_dimensions.push_back(copies);
    found.replicate_on_last_tile_dim = true;
  }
  return found;
}

class Reader {
 public:
  explicit Reader(const RegionCalls& calls) : calls_(calls) {}

  absl::StatusOr<IslandSpecs> Read() {
    for (const Instruction* call : calls_.enter) {
      MW_RETURN_IF_ERROR(AddInside(*call, *call));
    }
    for (const Instruction* call : calls_.leave) {
      const Instruction& value = *call->operands[0];
      if (IsPartitionerHint(value)) {
        MW_RETURN_IF_ERROR(AddInside(*call, value));
      }
    }
    for (const Instruction* call : calls_.enter) {
      MW_RETURN_IF_ERROR(Add(*call, *call->operands[0]));
    }
    for (const Instruction* call : calls_.leave) {
      MW_RETURN_IF_ERROR(Add(*call, *call));
    }
    MW_ASSIGN_OR_RETURN(Mesh mesh, FindMesh());
    if (!mesh.device_ids().empty()) {
      return Bad("its mesh lists devices in another order than the module's");
    }
    IslandSpecs specs{.island = {.mesh = std::move(mesh)}};
    for (size_t i = 0; i < raw_.list.size(); ++i) {
      const RawAnnotation& one = raw_.list[i];
      MW_ASSIGN_OR_RETURN(
          Sharding sharding,
          FromOpSharding(*one.hlo, one.dimensions, specs.island.mesh));
      auto& list = i < calls_.enter.size() ? specs.island.operands
                                           : specs.island.results;
      list.push_back(std::move(sharding));
    }
    if (positions_.has_value()) {
      specs.positions = *positions_;
    } else {
      specs.positions.resize(specs.island.mesh.device_count());
      std::iota(specs.positions.begin(), specs.positions.end(), 0);
    }
    return specs;
  }

 private:
  static absl::Status Unknown(const Instruction& call) {
    return Bad(call.name, " does not say how its array is split");
  }

  // Of an array within the region: along which axes it is manual.
  absl::Status AddInside(const Instruction& call, const Instruction& local) {
    if (!local.sharding.has_value()) return Unknown(call);
    const OpSharding& sharding = *local.sharding;
    if (sharding.kind == Kind::kManual) return absl::OkStatus();
    if (!IsPartly(sharding)) return Unknown(call);
    MW_ASSIGN_OR_RETURN(std::vector<int64_t> positions, PositionsOf(sharding));
    if (positions_.has_value() && *positions_ != positions) {
      return Bad("its arrays are manual along different axes");
    }
    positions_ = std::move(positions);
    return absl::OkStatus();
  }

  // Of an array before it enters, or after it left.
  absl::Status Add(const Instruction& call, const Instruction& whole) {
    if (!whole.sharding.has_value() || !whole.shape.IsArray()) {
      return Unknown(call);
    }
    const OpSharding* sharding = &*whole.sharding;
    if (positions_.has_value()) {
      MW_ASSIGN_OR_RETURN(shardings_.emplace_back(),
                          OnPositions(*sharding, *positions_));
      sharding = &shardings_.back();
    }
    raw_.list.push_back({.instruction = &whole,
                         .where = call.name,
                         .dimensions = whole.shape.dimensions,
                         .hlo = sharding});
    return absl::OkStatus();
  }

  absl::StatusOr<Mesh> FindMesh() const {
    absl::StatusOr<Mesh> mesh = MeshOfTiles(raw_);
    if (!absl::IsNotFound(mesh.status())) return mesh;
    if (!positions_.has_value()) {
      return Bad(
          "nothing that it takes or gives is split, so that its devices are "
          "not known; lower it with Shardy");
    }
    const int64_t count =
        std::ssize(*positions_) - std::ranges::count(*positions_, int64_t{-1});
    return Mesh::Create({{.name = "a", .size = count}});
  }

  const RegionCalls& calls_;
  // By device, if it is manual along some axes only.
  std::optional<std::vector<int64_t>> positions_;
  std::deque<OpSharding> shardings_;  // Those that `raw_` refers to.
  RawAnnotations raw_;
};

}  // namespace

absl::StatusOr<IslandSpecs> ReadGspmdSpecs(const RegionCalls& calls) {
  return Reader(calls).Read();
}

bool IsPartlyManual(const Instruction& leave) {
  return leave.sharding.has_value() && IsPartly(*leave.sharding);
}

}  // namespace meshwright
