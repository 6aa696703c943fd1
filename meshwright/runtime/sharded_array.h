// An array that lies on the devices of a mesh, a shard on each.
//
//   MW_ASSIGN_OR_RETURN(ShardedArray w, Upload(tensor, sharding, placement));
//   MW_ASSIGN_OR_RETURN(Tensor again, Download(w, sharding, mesh));
#ifndef MESHWRIGHT_RUNTIME_SHARDED_ARRAY_H_
#define MESHWRIGHT_RUNTIME_SHARDED_ARRAY_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/engine/client.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

using ShardedArray = std::vector<BufferPtr>;  // By device of the mesh.

// Which devices a mesh stands for.
struct Placement {
  Client* client = nullptr;
  const Mesh& mesh;
  absl::Span<const Device* const> devices;  // By device of the mesh.
};

// Sends every device its shard; bytes of padding are `padding`.
// Requires: `sharding` fits the tensor and is not pending.
absl::StatusOr<ShardedArray> Upload(Tensor tensor, const Sharding& sharding,
                                    const Placement& placement, char padding);

// Waits for the array and reads one copy of it. It has no name.
absl::StatusOr<Tensor> Download(const ShardedArray& array,
                                const Sharding& sharding, const Mesh& mesh);

// kInternal, naming a device, when copies of a part are not the same bits.
absl::Status CheckCopies(const ShardedArray& array, const Sharding& sharding,
                         const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_SHARDED_ARRAY_H_
