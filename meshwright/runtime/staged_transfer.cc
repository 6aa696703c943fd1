#include "meshwright/runtime/staged_transfer.h"

#include <utility>

#include "meshwright/base/status_macros.h"

namespace meshwright {

absl::StatusOr<ShardedArray> CopyAcross(const ShardedArray& array,
                                        const Sharding& from,
                                        const Mesh& source, const Sharding& to,
                                        const Placement& target) {
  if (source.axes() == target.mesh.axes() && from == to) {
    ShardedArray copies;
    for (size_t device = 0; device < array.size(); ++device) {
      MW_ASSIGN_OR_RETURN(copies.emplace_back(),
                          array[device]->CopyTo(*target.devices[device]));
    }
    return copies;
  }
  MW_ASSIGN_OR_RETURN(Tensor tensor, Download(array, from, source));
  return Upload(std::move(tensor), to, target, 0);
}

}  // namespace meshwright
