#include "meshwright/runtime/sharded_array.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/state/shard_tensor.h"

namespace meshwright {
namespace {

absl::Span<std::byte> Writable(std::string& data) {
  return {reinterpret_cast<std::byte*>(data.data()), data.size()};
}

HostArray MakeHostArray(Tensor shard) {
  const auto owner = std::make_shared<const std::string>(std::move(shard.data));
  return {.bytes = {reinterpret_cast<const std::byte*>(owner->data()),
                    owner->size()},
          .shape = {shard.type, std::move(shard.dimensions)},
          .owner = owner};
}

// Reads the shards of these devices, all at once; the others stay empty.
absl::StatusOr<std::vector<Tensor>> ReadShards(
    const ShardedArray& array, absl::Span<const int64_t> devices) {
  std::vector<Tensor> shards(array.size());
  std::vector<EventPtr> done;
  absl::Status status;
  for (const int64_t device : devices) {
    const Buffer& buffer = *array[device];
    Tensor& shard = shards[device];
    shard.type = buffer.shape().type;
    shard.dimensions = buffer.shape().dimensions;
    shard.data.resize(buffer.shape().host_bytes());
    absl::StatusOr<EventPtr> event = buffer.ToHost(Writable(shard.data));
    status.Update(event.status());
    if (!event.ok()) break;
    done.push_back(*std::move(event));
  }
  // The shards must not go before the copies that have begun are over.
  status.Update(AwaitAll(done));
  MW_RETURN_IF_ERROR(status);
  return shards;
}

}  // namespace

absl::StatusOr<ShardedArray> Upload(Tensor tensor, const Sharding& sharding,
                                    const Placement& placement, char padding) {
  const Mesh& mesh = placement.mesh;
  const AxisList split = SplitAxes(sharding);
  // Copies share the host's memory.
  std::vector<std::optional<HostArray>> shards(mesh.Size(split));
  if (split.empty()) shards[0] = MakeHostArray(std::move(tensor));
  ShardedArray array;
  for (int64_t device = 0; device < mesh.device_count(); ++device) {
    std::optional<HostArray>& shard = shards[mesh.Coordinate(device, split)];
    if (!shard.has_value()) {
      shard = MakeHostArray(Shard(tensor, sharding, mesh, device, padding));
    }
    MW_ASSIGN_OR_RETURN(
        array.emplace_back(),
        placement.client->FromHost(*shard, *placement.devices[device]));
  }
  return array;
}

absl::StatusOr<Tensor> Download(const ShardedArray& array,
                                const Sharding& sharding, const Mesh& mesh) {
  const std::vector<int64_t> devices = FirstCopies(sharding, mesh);
  MW_ASSIGN_OR_RETURN(std::vector<Tensor> shards, ReadShards(array, devices));
  if (SplitAxes(sharding).empty()) return std::move(shards[0]);
  return Unshard(shards, sharding, mesh);
}

absl::Status CheckCopies(const ShardedArray& array, const Sharding& sharding,
                         const Mesh& mesh) {
  std::vector<int64_t> all;
  for (int64_t device = 0; device < mesh.device_count(); ++device) {
    all.push_back(device);
  }
  MW_ASSIGN_OR_RETURN(const std::vector<Tensor> shards, ReadShards(array, all));
  const Tensor whole = Unshard(shards, sharding, mesh);
  const std::optional<int64_t> different =
      FindDifference(whole, shards, sharding, mesh);
  if (!different.has_value()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("the copy on device ", *different, " differs"));
}

}  // namespace meshwright
