// HLO's own sharding annotation (OpSharding), as frontends write it.
//
// A tiled sharding cuts dimension i into tile_dimensions[i] parts; the devices
// are listed in row-major tile order, or given as an iota that is reshaped and
// transposed: dims [2,4], reshape [4,2], perm [1,0] is 0,2,4,6,1,3,5,7.
#ifndef MESHWRIGHT_HLO_OP_SHARDING_H_
#define MESHWRIGHT_HLO_OP_SHARDING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace meshwright {

struct OpSharding {
  enum class Kind {
    kReplicated = 0,
    kMaximal = 1,  // On one device.
    kTuple = 2,
    kTiled = 3,
    kManual = 4,
    kUnknown = 5,
    kUnreduced = 6,
  };

  Kind kind = Kind::kReplicated;
  std::vector<int64_t> tile_dimensions;
  std::vector<int64_t> devices;            // Explicit form.
  std::vector<int64_t> iota_reshape_dims;  // Iota form.
  std::vector<int32_t> iota_transpose_perm;
  bool replicate_on_last_tile_dim = false;
  std::vector<Kind> last_tile_dims;  // Kinds of trailing tile dims.
  std::vector<OpSharding> tuple;     // One per leaf.
  std::string unknown_fields;

  // "{devices=[2,1,4]<=[8] last_tile_dim_replicate}", as XLA prints it.
  std::string ToString() const;

  bool operator==(const OpSharding&) const = default;
};

// The devices of an iota list: iota over `reshape_dims`, transposed by `perm`,
// flattened. Fails when perm is no permutation or the product exceeds 2^24.
absl::StatusOr<std::vector<int64_t>> ExpandIota(
    const std::vector<int64_t>& reshape_dims, const std::vector<int32_t>& perm);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_OP_SHARDING_H_
