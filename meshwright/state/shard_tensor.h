// A tensor cut into what each device of a mesh holds, and put together again.
//
//   w f32[8,6] as [data, model] on data=4,model=2 is f32[2,3] on each device;
//   device 3 (data 1, model 1) has rows 2-3 of columns 3-5.
#ifndef MESHWRIGHT_STATE_SHARD_TENSOR_H_
#define MESHWRIGHT_STATE_SHARD_TENSOR_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

// The devices that together hold a tensor once: of copies the first. Ascending.
std::vector<int64_t> FirstCopies(const Sharding& sharding, const Mesh& mesh);

// By shard: the devices that hold it.
std::vector<std::vector<int64_t>> ShardHolders(const Sharding& sharding,
                                               const Mesh& mesh);

// A box of the tensor that lies in a shard as a box; padding is in none.
struct ShardBox {
  std::vector<int64_t> start;  // In the tensor.
  std::vector<int64_t> size;
  std::vector<int64_t> local_start;  // In the shard.
};
// What `device` holds: one box, unless dimensions are split in strides.
std::vector<ShardBox> ShardBoxes(const Sharding& sharding, const Mesh& mesh,
                                 int64_t device);

// What `device` holds of `tensor`; every byte of padding is `padding`.
// Requires: the sharding fits the tensor (CheckSharding) and is not pending;
// the tensor has a type.
Tensor Shard(const Tensor& tensor, const Sharding& sharding, const Mesh& mesh,
             int64_t device, char padding = 0);

// The tensor of which `shards`, by device, are the parts; only FirstCopies are
// looked at. Requires the same of the sharding; shards of the local dimensions.
Tensor Unshard(absl::Span<const Tensor> shards, const Sharding& sharding,
               const Mesh& mesh);

// The first device whose shard is not what `tensor` has there, bit for bit,
// padding aside: with tensor = Unshard(shards) one whose copy differs.
std::optional<int64_t> FindDifference(const Tensor& tensor,
                                      absl::Span<const Tensor> shards,
                                      const Sharding& sharding,
                                      const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_STATE_SHARD_TENSOR_H_
