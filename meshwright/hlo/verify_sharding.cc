// Sharding annotations fit the shapes of their instructions.
#include <algorithm>

#include "meshwright/base/annotate.h"
#include "meshwright/hlo/shape_checks.h"
#include "meshwright/hlo/verify_rules.h"

namespace meshwright {
namespace {

absl::Status CheckIota(const OpSharding& sharding, int64_t tiles) {
  const std::vector<int64_t>& dims = sharding.iota_reshape_dims;
  if (CheckedProduct(dims) != tiles) {
    return Bad("sharding: the iota ", Describe(dims),
               " does not name as many devices as there are tiles, ", tiles);
  }
  std::vector<bool> seen(dims.size());
  for (const int32_t dim : sharding.iota_transpose_perm) {
    if (dim < 0 || dim >= std::ssize(dims) || seen[dim]) {
      return Bad("sharding: the iota's transpose is no permutation");
    }
    seen[dim] = true;
  }
  if (sharding.iota_transpose_perm.size() != dims.size()) {
    return Bad("sharding: the iota's transpose is no permutation");
  }
  return absl::OkStatus();
}

// A null shape stands for one whose rank does not matter.
absl::Status CheckTiled(const OpSharding& sharding, const Shape* shape) {
  const std::vector<int64_t>& tiles = sharding.tile_dimensions;
  // A form that we do not read (named meshes) is in the unknown fields.
  if (tiles.empty() && !sharding.unknown_fields.empty()) {
    return absl::OkStatus();
  }
  const int64_t trailing = std::ssize(sharding.last_tile_dims) +
                           (sharding.replicate_on_last_tile_dim ? 1 : 0);
  if (shape != nullptr && shape->IsArray() &&
      std::ssize(tiles) != shape->rank() + trailing) {
    return Bad("sharding: wrong number of tile dimensions; expected ",
               shape->rank() + trailing, ", got ", tiles.size());
  }
  const std::optional<int64_t> count = CheckedProduct(tiles);
  if (!count.has_value() || *count == 0) {
    return Bad("sharding: tile dimensions must be positive and not overflow; ",
               "got ", Describe(tiles));
  }
  if (!sharding.iota_reshape_dims.empty()) return CheckIota(sharding, *count);
  if (std::ssize(sharding.devices) != *count) {
    return Bad("sharding: wrong number of devices; expected ", *count, ", got ",
               sharding.devices.size());
  }
  const auto lowest =
      std::min_element(sharding.devices.begin(), sharding.devices.end());
  if (*lowest < 0) return Bad("sharding: negative device ", *lowest);
  return absl::OkStatus();
}

absl::Status CheckOne(const OpSharding& sharding, const Shape* shape) {
  switch (sharding.kind) {
    case OpSharding::Kind::kTiled:
      return CheckTiled(sharding, shape);
    case OpSharding::Kind::kMaximal:
      if (sharding.devices.size() > 1) {
        return Bad("sharding: expected one device, got ",
                   sharding.devices.size());
      }
      return absl::OkStatus();
    case OpSharding::Kind::kTuple:
      return Bad("sharding: tuples of shardings cannot nest");
    default:
      return absl::OkStatus();
  }
}

// Checks the shardings of the leaves of `shape`, from sharding `next` on.
absl::Status CheckLeaves(const OpSharding& sharding, const Shape& shape,
                         size_t& next) {
  if (!shape.IsTuple()) {
    const size_t leaf = next++;
    absl::Status status = CheckOne(sharding.tuple[leaf], &shape);
    if (status.ok()) return status;
    return Annotate(status, absl::StrCat("leaf ", leaf));
  }
  for (const Shape& element : shape.tuple_shapes) {
    absl::Status status = CheckLeaves(sharding, element, next);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSharding(const OpSharding& sharding, const Shape& shape) {
  if (sharding.kind != OpSharding::Kind::kTuple) {
    // On a tuple it applies to every leaf, of any rank.
    return CheckOne(sharding, shape.IsTuple() ? nullptr : &shape);
  }
  const int64_t leaves = LeafCount(shape);
  const int64_t count = std::ssize(sharding.tuple);
  // XLA nevertheless gives an empty tuple one sharding.
  if (leaves == 0 && count <= 1) return absl::OkStatus();
  if (leaves != count) {
    return Bad("sharding: expected one sharding per leaf, ", leaves, ", got ",
               count);
  }
  size_t next = 0;
  return CheckLeaves(sharding, shape, next);
}

}  // namespace meshwright
