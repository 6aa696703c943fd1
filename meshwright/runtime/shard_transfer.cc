#include "meshwright/runtime/shard_transfer.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "meshwright/base/host_memory.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/state/shard_tensor.h"

namespace meshwright {
namespace {

absl::Span<std::byte> BytesOf(const std::shared_ptr<char>& memory,
                              size_t size) {
  return {reinterpret_cast<std::byte*>(memory.get()), size};
}

}  // namespace

BufferShape ArrayPlace::whole() const {
  return {type, GlobalDimensions(*sharding)};
}

BufferShape ArrayPlace::shard() const {
  return {type, LocalDimensions(*sharding, *mesh)};
}

ArrayPlace PlaceOf(const Job& job, const ShardAt& at) {
  const auto type_of = [&](int64_t parameter) {
    return job.parameters[parameter].shape.element_type;
  };
  if (at.kind == ShardAt::Kind::kState) {
    const StageId stage = job.step.homes[at.index];
    return {.sharding = &job.layout.parameters.at({at.index, stage}),
            .mesh = &job.layout.meshes[stage],
            .type = type_of(at.index)};
  }
  const StageInput& output = job.step.outputs[at.index];
  return {.sharding = &job.ShardingOfOutput(at.index),
          .mesh = &job.layout.meshes[job.StageOfOutput(at.index)],
          .type = output.kind == StageInput::Kind::kValue
                      ? job.step.values[output.index].shape.element_type
                      : type_of(output.index)};
}

ArrayPlace PlaceOf(const Job& job, const ParameterShard& at) {
  return {.sharding = &job.layout.parameters.at({at.parameter, at.stage}),
          .mesh = &job.layout.meshes[at.stage],
          .type = job.parameters[at.parameter].shape.element_type};
}

HostArray CutShard(const Job& job, const ParameterShard& at,
                   const GivenArray& whole) {
  const ArrayPlace place = PlaceOf(job, at);
  const auto& [sharding, mesh, type] = place;
  HostArray shard = {.shape = place.shard()};
  const size_t bytes = shard.shape.host_bytes();
  const int64_t device = at.devices.front();
  if (const std::optional<int64_t> offset =
          ShardOffset(*sharding, *mesh, device, HostBytes(type))) {
    shard.bytes = whole.bytes.subspan(*offset, bytes);
    shard.owner = whole.owner;
    return shard;
  }
  const std::shared_ptr<char> gathered =
      AllocateHostMemory(static_cast<int64_t>(bytes));
  const absl::Span<std::byte> into = BytesOf(gathered, bytes);
  const bool is_even = std::ranges::all_of(
      sharding->dims,
      [&](const DimSharding& dim) { return IsEven(dim, *mesh); });
  if (!is_even) {
    std::memset(into.data(), job.padding, bytes);
  }
  CopyToShard(whole.bytes, *sharding, *mesh, device, HostBytes(type), into);
  shard.bytes = into;
  shard.owner = gathered;
  return shard;
}

absl::Status SetShard(Executor& executor, const ParameterShard& at,
                      const GivenArray& whole) {
  HostArray shard = CutShard(executor.job(), at, whole);
  // A CPU that may keep them uses them in place, for as long as it likes.
  if (whole.is_lent && shard.owner == whole.owner &&
      executor.client()->platform_name() == "cpu") {
    shard.owner = nullptr;
  }
  return executor.Set(at, shard);
}

absl::Status ReadIntoWhole(
    const ArrayPlace& place, int64_t device, absl::Span<std::byte> whole,
    absl::FunctionRef<absl::Status(absl::Span<std::byte> shard)> read) {
  const auto& [sharding, mesh, type] = place;
  const size_t size = place.shard().host_bytes();
  if (const std::optional<int64_t> offset =
          ShardOffset(*sharding, *mesh, device, HostBytes(type))) {
    return read(whole.subspan(*offset, size));
  }
  const std::shared_ptr<char> own =
      AllocateHostMemory(static_cast<int64_t>(size));
  MW_RETURN_IF_ERROR(read(BytesOf(own, size)));
  CopyFromShard(BytesOf(own, size), *sharding, *mesh, device, HostBytes(type),
                whole);
  return absl::OkStatus();
}

}  // namespace meshwright
