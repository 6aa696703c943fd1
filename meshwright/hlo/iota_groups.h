// Replica groups in iota form.
//
//   2 groups of 4, reshape [4,2], perm [1,0]: {{0,2,4,6}, {1,3,5,7}}
#ifndef MESHWRIGHT_HLO_IOTA_GROUPS_H_
#define MESHWRIGHT_HLO_IOTA_GROUPS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace meshwright {

// The list of ExpandIota, divided into `count` groups of `size` devices. Fails
// as it does, and if the sizes do not match.
absl::StatusOr<std::vector<std::vector<int64_t>>> ExpandIotaGroups(
    int64_t count, int64_t size, const std::vector<int64_t>& reshape_dims,
    const std::vector<int32_t>& perm);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_IOTA_GROUPS_H_
