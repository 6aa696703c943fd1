#include "meshwright/hlo/mesh_groups.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/iota_groups.h"

namespace meshwright {
namespace {

// A run of digits of a mesh axis: its size, and where in the list of parts it
// is; not in it: kRest.
struct Piece {
  int64_t size = 1;
  int32_t part = 0;
};
constexpr int32_t kRest = std::numeric_limits<int32_t>::max();

absl::Status BadPart(int64_t axis) {
  return absl::InvalidArgumentError(
      absl::StrCat("replica groups over mesh axis ", axis,
                   ", which the mesh does not have so often or in such parts"));
}

// Cuts an axis into the parts of groups and what is between them.
absl::StatusOr<std::vector<Piece>> CutAxis(
    int64_t axis, int64_t size, const std::vector<MeshAxisPart>& parts) {
  std::vector<int32_t> own;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].axis == axis) own.push_back(static_cast<int32_t>(i));
  }
  std::ranges::stable_sort(own, {},
                           [&](int32_t i) { return parts[i].pre_size; });
  std::vector<Piece> pieces;
  int64_t before = 1;  // The product of the pieces.
  for (const int32_t i : own) {
    const int64_t of_part = parts[i].size == 0 ? size : parts[i].size;
    const int64_t pre_size = parts[i].pre_size;
    if (pre_size < before || pre_size % before != 0 || of_part < 1 ||
        size % pre_size != 0 || (size / pre_size) % of_part != 0) {
      return BadPart(axis);
    }
    pieces.push_back({pre_size / before, kRest});
    pieces.push_back({of_part, i});
    before = pre_size * of_part;
  }
  pieces.push_back({size / before, kRest});
  return pieces;
}

}  // namespace

absl::StatusOr<std::vector<std::vector<int64_t>>> ExpandMeshGroups(
    const std::vector<int64_t>& axis_sizes, const std::vector<int64_t>& devices,
    const std::vector<MeshAxisPart>& parts) {
  for (const MeshAxisPart& part : parts) {
    if (part.axis < 0 || part.axis >= std::ssize(axis_sizes)) {
      return BadPart(part.axis);
    }
  }
  std::vector<Piece> pieces;
  for (size_t axis = 0; axis < axis_sizes.size(); ++axis) {
    if (axis_sizes[axis] < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("mesh axis ", axis, " has size ", axis_sizes[axis]));
    }
    MW_ASSIGN_OR_RETURN(
        const std::vector<Piece> own,
        CutAxis(static_cast<int64_t>(axis), axis_sizes[axis], parts));
    pieces.insert(pieces.end(), own.begin(), own.end());
  }
  std::vector<int64_t> dims;
  std::vector<int32_t> order;  // What tells groups apart, then their members.
  int64_t count = 1;
  int64_t size = 1;
  for (const Piece& piece : pieces) {
    order.push_back(static_cast<int32_t>(dims.size()));
    dims.push_back(piece.size);
    int64_t& product = piece.part == kRest ? count : size;
    if (__builtin_mul_overflow(product, piece.size, &product)) {
      return absl::InvalidArgumentError("the mesh has too many devices");
    }
  }
  const auto key = [&](int32_t piece) {
    const int32_t part = pieces[piece].part;
    return part == kRest ? -1 : part;
  };
  std::ranges::stable_sort(order, {}, key);
  MW_ASSIGN_OR_RETURN(std::vector<std::vector<int64_t>> groups,
                      ExpandIotaGroups(count, size, dims, order));
  if (devices.empty()) return groups;
  if (std::ssize(devices) != count * size) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a mesh of ", count * size, " devices lists ", devices.size()));
  }
  for (std::vector<int64_t>& group : groups) {
    for (int64_t& device : group) device = devices[device];
  }
  return groups;
}

}  // namespace meshwright
