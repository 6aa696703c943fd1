// Arrays of the host and the shards of devices: one cut from the other, or put
// into it, without a copy where the shard is one piece of the array.
#ifndef MESHWRIGHT_RUNTIME_SHARD_TRANSFER_H_
#define MESHWRIGHT_RUNTIME_SHARD_TRANSFER_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "meshwright/base/element_type.h"
#include "meshwright/engine/client.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/runtime/executor.h"
#include "meshwright/runtime/job.h"
#include "meshwright/runtime/job_site.h"

namespace meshwright {

// How an array is sharded that devices hold between steps, or are given. The
// job must outlive it.
struct ArrayPlace {
  const Sharding* sharding;
  const Mesh* mesh;
  ElementType type;

  BufferShape whole() const;
  BufferShape shard() const;  // Of each device.
};
// Require: the job has it.
ArrayPlace PlaceOf(const Job& job, const ShardAt& at);
ArrayPlace PlaceOf(const Job& job, const ParameterShard& at);

// What the devices of `at` get. Requires: the array has the size of its place.
HostArray CutShard(const Job& job, const ParameterShard& at,
                   const GivenArray& whole);
// Sends it to those of them that the executor has.
absl::Status SetShard(Executor& executor, const ParameterShard& at,
                      const GivenArray& whole);

// Puts what `read` reads, the shard of this device, where it belongs.
absl::Status ReadIntoWhole(
    const ArrayPlace& place, int64_t device, absl::Span<std::byte> whole,
    absl::FunctionRef<absl::Status(absl::Span<std::byte> shard)> read);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_SHARD_TRANSFER_H_
