#include "meshwright/hlo/op_sharding.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/sharding_kind.h"

namespace meshwright {
namespace {

constexpr int64_t kMaxDevices = int64_t{1} << 24;

void AppendSharding(const OpSharding& sharding, std::string* out);

void AppendTuple(const OpSharding& sharding, std::string* out) {
  absl::StrAppend(out, "{");
  for (size_t i = 0; i < sharding.tuple.size(); ++i) {
    if (i > 0) absl::StrAppend(out, ", ");
    AppendSharding(sharding.tuple[i], out);
  }
  absl::StrAppend(out, "}");
}

// True for 0,1,2,...: the iota is not transposed.
bool IsAscending(const std::vector<int32_t>& perm) {
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int32_t>(i)) return false;
  }
  return true;
}

void AppendTiled(const OpSharding& sharding, std::string* out) {
  absl::StrAppend(out, "{devices=[",
                  absl::StrJoin(sharding.tile_dimensions, ","), "]");
  if (sharding.iota_reshape_dims.empty()) {
    absl::StrAppend(out, absl::StrJoin(sharding.devices, ","));
  } else {
    absl::StrAppend(out, "<=[", absl::StrJoin(sharding.iota_reshape_dims, ","),
                    "]");
    if (!IsAscending(sharding.iota_transpose_perm)) {
      absl::StrAppend(out, "T(",
                      absl::StrJoin(sharding.iota_transpose_perm, ","), ")");
    }
  }
  if (sharding.replicate_on_last_tile_dim) {
    absl::StrAppend(out, " last_tile_dim_replicate");
  }
  if (!sharding.last_tile_dims.empty()) {
    absl::StrAppend(out, " last_tile_dims={",
                    absl::StrJoin(sharding.last_tile_dims, ", ",
                                  [](std::string* text, OpSharding::Kind kind) {
                                    absl::StrAppend(text, KindName(kind));
                                  }),
                    "}");
  }
  absl::StrAppend(out, "}");
}

void AppendSharding(const OpSharding& sharding, std::string* out) {
  switch (sharding.kind) {
    case OpSharding::Kind::kTuple:
      return AppendTuple(sharding, out);
    case OpSharding::Kind::kTiled:
      return AppendTiled(sharding, out);
    case OpSharding::Kind::kMaximal:
      absl::StrAppend(out, "{maximal device=",
                      sharding.devices.empty() ? 0 : sharding.devices[0], "}");
      return;
    default:
      absl::StrAppend(out, "{", KindName(sharding.kind), "}");
  }
}

absl::Status CheckPermutation(const std::vector<int32_t>& perm, size_t size) {
  std::vector<bool> seen(perm.size(), false);
  for (const int32_t dim : perm) {
    if (dim < 0 || static_cast<size_t>(dim) >= seen.size() || seen[dim]) break;
    seen[dim] = true;
  }
  if (perm.size() == size && std::ranges::count(seen, false) == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("iota: [", absl::StrJoin(perm, ","),
                   "] is no permutation of ", size, " dimensions"));
}

// The product of the dimensions.
absl::StatusOr<int64_t> CountDevices(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) {
    if (dim < 1 || dim > kMaxDevices / count) {
      return absl::InvalidArgumentError(absl::StrCat(
          "iota: dimensions [", absl::StrJoin(dims, ","),
          "] must be positive, with a product of at most ", kMaxDevices));
    }
    count *= dim;
  }
  return count;
}

}  // namespace

std::string OpSharding::ToString() const {
  std::string text;
  AppendSharding(*this, &text);
  return text;
}

absl::StatusOr<std::vector<int64_t>> ExpandIota(
    const std::vector<int64_t>& reshape_dims,
    const std::vector<int32_t>& perm) {
  const absl::StatusOr<int64_t> count = CountDevices(reshape_dims);
  if (!count.ok()) return count.status();
  const absl::Status permutation = CheckPermutation(perm, reshape_dims.size());
  if (!permutation.ok()) return permutation;

  std::vector<int64_t> strides(reshape_dims.size(), 1);
  for (int dim = static_cast<int>(strides.size()) - 2; dim >= 0; --dim) {
    strides[dim] = strides[dim + 1] * reshape_dims[dim + 1];
  }
  // Each permuted dimension, major first, repeats the list with its offsets.
  std::vector<int64_t> devices = {0};
  for (const int32_t dim : perm) {
    if (reshape_dims[dim] == 1) continue;
    std::vector<int64_t> next;
    next.reserve(devices.size() * reshape_dims[dim]);
    for (const int64_t base : devices) {
      for (int64_t i = 0; i < reshape_dims[dim]; ++i) {
        next.push_back(base + i * strides[dim]);
      }
    }
    devices = std::move(next);
  }
  return devices;
}

}  // namespace meshwright
