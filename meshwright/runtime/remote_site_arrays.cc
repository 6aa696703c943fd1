// Arrays to workers and from them: in memory that a client shares with all of
// this machine (wire/memory_shares.h), otherwise in messages.
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/host_memory.h"
#include "meshwright/base/shared_memory.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/runtime/part_bytes.h"
#include "meshwright/runtime/remote_site.h"
#include "meshwright/runtime/shard_transfer.h"
#include "meshwright/state/shard_tensor.h"

namespace meshwright {
namespace {

proto::SharedRegion RegionOf(const SharedMemory& memory,
                             absl::Span<const std::byte> bytes) {
  proto::SharedRegion region;
  region.set_memory(memory.address());
  region.set_offset(memory.OffsetOf(bytes));
  region.set_size(static_cast<int64_t>(bytes.size()));
  return region;
}

// In messages, each with what `head` says.
absl::Status PostParts(RemoteWorker& worker, const proto::WorkerCommand& head,
                       absl::Span<const std::byte> bytes) {
  const absl::string_view data(reinterpret_cast<const char*>(bytes.data()),
                               bytes.size());
  return ForEachPart(data,
                     [&](int64_t offset, absl::string_view part, bool last) {
                       proto::WorkerCommand command = head;
                       command.mutable_set()->set_offset(offset);
                       command.mutable_set()->set_bytes(std::string(part));
                       command.mutable_set()->set_last(last);
                       return worker.Post(std::move(command));
                     });
}

}  // namespace

absl::Status RemoteSite::Set(const ParameterShard& at,
                             const GivenArray& whole) {
  const bool is_staged = at.batch != 0;
  if (!is_staged) MW_RETURN_IF_ERROR(failure_);
  const std::shared_ptr<const SharedMemory> memory =
      whole.is_lent ? SharedMemory::Around(whole.bytes) : nullptr;
  std::optional<HostArray> shard;  // Cut when it is sent.
  for (size_t number = 0; number < team_.size(); ++number) {
    RemoteWorker& worker = *team_[number];
    proto::WorkerCommand command;
    command.set_job(number_->id);
    proto::TensorPart& head = *command.mutable_set();
    head.set_index(at.parameter);
    head.set_stage(at.stage);
    head.set_micro_batch(at.micro_batch);
    head.set_batch(at.batch);
    for (const int64_t device : at.devices) {
      if (job_.devices[at.stage][device].worker == static_cast<int>(number)) {
        head.add_devices(device);
      }
    }
    if (head.devices().empty()) continue;
    absl::Status sent;
    if (worker.CanMap(memory)) {
      *head.mutable_region() = RegionOf(*memory, whole.bytes);
      head.set_last(true);
      sent = worker.Lend(std::move(command), whole.owner);
    } else {
      if (!shard.has_value()) shard = CutShard(job_, at, whole);
      sent = PostParts(worker, command, shard->bytes);
    }
    // Another thread runs steps, and learns of it.
    if (!sent.ok()) return is_staged ? sent : Fail({}, sent);
  }
  return absl::OkStatus();
}

int RemoteSite::WorkerOf(const ShardAt& at) const {
  const StageId stage = at.kind == ShardAt::Kind::kState
                            ? job_.step.homes[at.index]
                            : job_.StageOfOutput(at.index);
  return job_.devices[stage][at.device].worker;
}

absl::Status RemoteSite::Read(absl::Span<const ShardAt> shards,
                              absl::Span<const absl::Span<std::byte>> into) {
  std::vector<ShardWish> wishes;
  for (size_t i = 0; i < shards.size(); ++i) {
    wishes.push_back({.at = shards[i], .into = into[i]});
  }
  return ReadShards(wishes);
}

absl::Status RemoteSite::ReadWhole(ShardAt::Kind kind, int64_t index,
                                   absl::Span<std::byte> whole) {
  const ArrayPlace place = PlaceOf(job_, ShardAt{kind, index, 0});
  const std::shared_ptr<const SharedMemory> memory =
      SharedMemory::Around(whole);
  std::vector<ShardWish> wishes;
  // Of those that come in messages and are in several pieces.
  const size_t size = place.shard().host_bytes();
  const int64_t element = HostBytes(place.type);
  std::vector<std::pair<int64_t, std::shared_ptr<char>>> scattered;
  for (const int64_t device : FirstCopies(*place.sharding, *place.mesh)) {
    ShardWish& wish =
        wishes.emplace_back(ShardWish{.at = {kind, index, device}});
    if (team_[WorkerOf(wish.at)]->CanMap(memory)) {
      wish.region = RegionOf(*memory, whole);
    } else if (const std::optional<int64_t> offset =
                   ShardOffset(*place.sharding, *place.mesh, device, element)) {
      wish.into = whole.subspan(*offset, size);
    } else {
      scattered.emplace_back(device,
                             AllocateHostMemory(static_cast<int64_t>(size)));
      wish.into = {reinterpret_cast<std::byte*>(scattered.back().second.get()),
                   size};
    }
  }
  MW_RETURN_IF_ERROR(ReadShards(wishes));
  for (const auto& [device, own] : scattered) {
    CopyFromShard({reinterpret_cast<const std::byte*>(own.get()), size},
                  *place.sharding, *place.mesh, device, element, whole);
  }
  return absl::OkStatus();
}

absl::Status RemoteSite::ReadShards(absl::Span<const ShardWish> wishes) {
  MW_RETURN_IF_ERROR(failure_);
  std::vector<proto::WorkerCommand> commands(team_.size());
  wanted_.assign(team_.size(), {});
  const absl::Cleanup done = [this] { wanted_.clear(); };
  for (const ShardWish& wish : wishes) {
    const int worker = WorkerOf(wish.at);
    wanted_[worker].into.push_back(wish.into);
    proto::ShardWanted& shard = *commands[worker].mutable_read()->add_shards();
    shard.set_output(wish.at.kind == ShardAt::Kind::kOutput);
    shard.set_index(wish.at.index);
    shard.set_device(wish.at.device);
    if (wish.region.has_value()) *shard.mutable_into() = *wish.region;
  }
  Replies ids;
  for (size_t number = 0; number < team_.size(); ++number) {
    ids.push_back(0);
    if (wanted_[number].into.empty()) continue;
    commands[number].set_job(number_->id);
    absl::StatusOr<uint64_t> id =
        team_[number]->Command(std::move(commands[number]));
    if (!id.ok()) return Fail(ids, id.status());
    wanted_[number].id = ids.back() = *id;
  }
  MW_RETURN_IF_ERROR(Await(ids, watch_->limits().step, nullptr));
  return TakeParts();
}

absl::Status RemoteSite::TakeParts() {
  for (size_t number = 0; number < wanted_.size(); ++number) {
    const Wanted& wanted = wanted_[number];
    if (wanted.id == 0) continue;
    for (const proto::TensorPart& part : team_[number]->TakeParts(wanted.id)) {
      const auto size = static_cast<int64_t>(part.bytes().size());
      if (part.index() < 0 || part.index() >= std::ssize(wanted.into) ||
          part.offset() < 0 ||
          part.offset() + size > std::ssize(wanted.into[part.index()])) {
        return absl::InternalError(absl::StrCat(
            team_[number]->name(), " sent a shard of another size"));
      }
      std::memcpy(wanted.into[part.index()].data() + part.offset(),
                  part.bytes().data(), part.bytes().size());
    }
  }
  return absl::OkStatus();
}

}  // namespace meshwright
