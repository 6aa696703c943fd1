#include "meshwright/hlo/iota_groups.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/op_sharding.h"

namespace meshwright {

absl::StatusOr<std::vector<std::vector<int64_t>>> ExpandIotaGroups(
    int64_t count, int64_t size, const std::vector<int64_t>& reshape_dims,
    const std::vector<int32_t>& perm) {
  MW_ASSIGN_OR_RETURN(const std::vector<int64_t> ids,
                      ExpandIota(reshape_dims, perm));
  int64_t total = 0;
  if (size <= 0 || count <= 0 || __builtin_mul_overflow(size, count, &total) ||
      total != std::ssize(ids)) {
    return absl::InvalidArgumentError(absl::StrCat(count, " replica groups of ",
                                                   size, " do not hold ",
                                                   ids.size(), " devices"));
  }
  std::vector<std::vector<int64_t>> groups;
  groups.reserve(count);
  for (int64_t group = 0; group < count; ++group) {
    groups.emplace_back(ids.begin() + group * size,
                        ids.begin() + (group + 1) * size);
  }
  return groups;
}

}  // namespace meshwright
