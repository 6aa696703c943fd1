// Divides a tensor into the shards of a mesh's devices, and reassembles it.
//
//   w f32[8,6] as [data, model] on data=4,model=2 is f32[2,3] on each device;
//   device 3 (data 1, model 1) has rows 2-3 of columns 3-5.
#ifndef MESHWRIGHT_STATE_SHARD_TENSOR_H_
#define MESHWRIGHT_STATE_SHARD_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

// The devices that together hold a tensor once: the first of each set of
// replicas. Ascending.
std::vector<int64_t> FirstCopies(const Sharding& sharding, const Mesh& mesh);

// By shard: the devices that hold it.
std::vector<std::vector<int64_t>> ShardHolders(const Sharding& sharding,
                                               const Mesh& mesh);

// A box of the tensor that is also a box of a shard; excludes padding.
struct ShardBox {
  std::vector<int64_t> start;  // In the tensor.
  std::vector<int64_t> size;
  std::vector<int64_t> local_start;  // In the shard.
};
// The boxes that `device` holds: a single one, unless dimensions have strided
// shardings.
std::vector<ShardBox> ShardBoxes(const Sharding& sharding, const Mesh& mesh,
                                 int64_t device);

// The shard of `device`; every byte of padding is `padding`. Requires: the
// sharding fits the tensor (CheckSharding) and is not pending; the tensor has a
// type.
Tensor Shard(const Tensor& tensor, const Sharding& sharding, const Mesh& mesh,
             int64_t device, char padding = 0);

// Where the bytes of a shard begin among the tensor's, if it is one piece of
// it; nullopt for several, and for padding.
std::optional<int64_t> ShardOffset(const Sharding& sharding, const Mesh& mesh,
                                   int64_t device, int64_t element_bytes);

// The same as Shard, and its inverse, of bytes that have the right sizes;
// padding is left as it is.
void CopyToShard(absl::Span<const std::byte> tensor, const Sharding& sharding,
                 const Mesh& mesh, int64_t device, int64_t element_bytes,
                 absl::Span<std::byte> shard);
void CopyFromShard(absl::Span<const std::byte> shard, const Sharding& sharding,
                   const Mesh& mesh, int64_t device, int64_t element_bytes,
                   absl::Span<std::byte> tensor);

// Reassembles a tensor from `shards`, by device; reads only those of
// FirstCopies. Requires: the sharding as above; shards have the local
// dimensions.
Tensor Unshard(absl::Span<const Tensor> shards, const Sharding& sharding,
               const Mesh& mesh);

// The first device whose shard differs bitwise from its part of `tensor`,
// ignoring padding. With tensor = Unshard(shards), finds replicas that differ.
std::optional<int64_t> FindDifference(const Tensor& tensor,
                                      absl::Span<const Tensor> shards,
                                      const Sharding& sharding,
                                      const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_SHARD_TENSOR_H_
