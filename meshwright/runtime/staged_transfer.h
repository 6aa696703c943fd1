// Moves an array from the devices of one stage to those of another.
#ifndef MESHWRIGHT_RUNTIME_STAGED_TRANSFER_H_
#define MESHWRIGHT_RUNTIME_STAGED_TRANSFER_H_

#include "absl/status/statusor.h"
#include "meshwright/runtime/sharded_array.h"

namespace meshwright {

// Starts the copies. `array` lies as `from` says on `source`.
absl::StatusOr<ShardedArray> CopyAcross(const ShardedArray& array,
                                        const Sharding& from,
                                        const Mesh& source, const Sharding& to,
                                        const Placement& target);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_STAGED_TRANSFER_H_
