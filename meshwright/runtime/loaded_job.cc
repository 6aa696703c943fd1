#include "meshwright/runtime/loaded_job.h"

#include <cstring>
#include <tuple>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/host_memory.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/crossing/cross_collectives.h"
#include "meshwright/runtime/check_size.h"
#include "meshwright/runtime/part_bytes.h"
#include "meshwright/runtime/peak_memory.h"
#include "meshwright/runtime/shard_transfer.h"
#include "meshwright/runtime/state_files.h"
#include "meshwright/runtime/state_messages.h"
#include "meshwright/runtime/step_done.h"

namespace meshwright {
namespace {

using SendSaved = std::function<absl::Status(proto::SavedFiles)>;

// Reports the result. One file at a time, since the size of messages is
// limited. If the connection ends, its reader notices.
void WriteAndTell(const StateFiles& files, const std::string& folder,
                  uint64_t save, const SendSaved& send) {
  const auto written = files.Write(folder);
  proto::SavedFiles last;
  last.set_save(save);
  last.set_last(true);
  last.set_code(static_cast<int>(written.status().code()));
  last.set_message(std::string(written.status().message()));
  if (written.ok()) {
    for (const auto& [number, file] : *written) {
      proto::SavedFiles one;
      one.set_save(save);
      *one.add_files() = ToProto(number, file);
      send(std::move(one)).IgnoreError();
    }
  }
  send(std::move(last)).IgnoreError();
}

}  // namespace

LoadedJob::~LoadedJob() {
  if (writer_.joinable()) writer_.join();
}

absl::StatusOr<std::unique_ptr<LoadedJob>> LoadedJob::Create(
    JobSpec spec, int member, int64_t calls, std::vector<std::string> programs,
    Client* client, std::shared_ptr<Wire> wire, CompileCache* cache) {
  auto loaded = absl::WrapUnique(new LoadedJob(std::move(wire)));
  if (loaded->wire_ != nullptr) {
    MW_ASSIGN_OR_RETURN(loaded->collectives_,
                        CrossCollectives::Create(calls, loaded->wire_.get()));
  }
  MW_ASSIGN_OR_RETURN(loaded->executor_,
                      Executor::Create(std::move(spec.job), programs,
                                       {.client = client,
                                        .worker = member,
                                        .wire = loaded->wire_.get(),
                                        .log = &loaded->log_,
                                        .cache = cache}));
  loaded->memory_bytes_ = PeakOfPrograms(*loaded->executor_);
  return loaded;
}

absl::Status LoadedJob::CheckPart(const proto::TensorPart& part) const {
  const Job& job = executor_->job();
  if (!job.layout.parameters.contains({part.index(), StageId(part.stage())}) ||
      part.micro_batch() < 0 || part.micro_batch() >= job.step.micro_batches ||
      part.devices().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "no place for parameter ", part.index(), " on stage ", part.stage()));
  }
  const int64_t devices = job.layout.meshes[part.stage()].device_count();
  for (const int64_t device : part.devices()) {
    if (device < 0 || device >= devices) {
      return absl::InvalidArgumentError(
          absl::StrCat("stage ", part.stage(), " has no device ", device));
    }
  }
  return absl::OkStatus();
}

absl::Status LoadedJob::Set(const proto::TensorPart& part) {
  MW_RETURN_IF_ERROR(CheckPart(part));
  const Job& job = executor_->job();
  const auto key = std::make_tuple(part.batch(), part.index(), part.stage(),
                                   part.micro_batch(), part.devices(0));
  std::unique_lock lock(coming_mutex_);
  Coming& shard = coming_[key];
  lock.unlock();
  if (shard.data == nullptr) {
    shard.shape = {job.parameters[part.index()].shape.element_type,
                   LocalDimensions(job.layout.parameters.at(
                                       {part.index(), StageId(part.stage())}),
                                   job.layout.meshes[part.stage()])};
    shard.bytes = shard.shape.host_bytes();
    shard.data = AllocateHostMemory(shard.bytes);
  }
  const auto size = static_cast<int64_t>(part.bytes().size());
  if (part.offset() < 0 || part.offset() + size > shard.bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(job.parameters[part.index()].name, " has ", shard.bytes,
                     " bytes on a device, not ", part.offset() + size));
  }
  std::memcpy(shard.data.get() + part.offset(), part.bytes().data(),
              part.bytes().size());
  if (!part.last()) return absl::OkStatus();
  lock.lock();
  const auto whole = coming_.extract(key);
  lock.unlock();
  Coming& come = whole.mapped();
  return executor_->Set(
      {.parameter = part.index(),
       .stage = StageId(part.stage()),
       .micro_batch = part.micro_batch(),
       .devices = {part.devices().begin(), part.devices().end()},
       .batch = part.batch()},
      {.bytes = {reinterpret_cast<const std::byte*>(come.data.get()),
                 static_cast<size_t>(come.bytes)},
       .shape = std::move(come.shape),
       .owner = come.data});
}

absl::Status LoadedJob::SetLent(const proto::TensorPart& part,
                                absl::Span<const std::byte> whole,
                                std::shared_ptr<const void> owner) {
  MW_RETURN_IF_ERROR(CheckPart(part));
  const ParameterShard at = {
      .parameter = part.index(),
      .stage = StageId(part.stage()),
      .micro_batch = part.micro_batch(),
      .devices = {part.devices().begin(), part.devices().end()},
      .batch = part.batch()};
  const Job& job = executor_->job();
  MW_RETURN_IF_ERROR(CheckSize(job.parameters[at.parameter].name,
                               PlaceOf(job, at).whole().host_bytes(),
                               whole.size()));
  return SetShard(*executor_, at,
                  {.bytes = whole, .owner = std::move(owner), .is_lent = true});
}

absl::Status LoadedJob::ReadInto(const ShardAt& at,
                                 const proto::SharedRegion& region,
                                 const AttachedMemories& memories) const {
  MW_ASSIGN_OR_RETURN(const AttachedMemories::Found found,
                      memories.Find(region));
  const ArrayPlace place = PlaceOf(executor_->job(), at);
  MW_RETURN_IF_ERROR(CheckSize(absl::StrCat("array ", at.index),
                               place.whole().host_bytes(), found.bytes.size()));
  return ReadIntoWhole(
      place, at.device, found.bytes,
      [&](absl::Span<std::byte> shard) { return executor_->Read(at, shard); });
}

absl::Status LoadedJob::Feed(const proto::FeedData& feed) {
  if (feed.dataset().empty()) return executor_->Feed(nullptr, 0);
  MW_ASSIGN_OR_RETURN(const DatasetSpec spec, ParseDatasetSpec(feed.dataset()));
  return executor_->Feed(&spec, feed.position());
}

absl::Status LoadedJob::CheckCollectives() const {
  return collectives_ != nullptr ? collectives_->status() : absl::OkStatus();
}

absl::Status LoadedJob::Steps(
    const proto::RunSteps& run,
    const std::function<absl::Status(proto::StepDone)>& send) {
  const auto traffic = [&] {
    return collectives_ != nullptr ? collectives_->traffic() : CrossTraffic();
  };
  MW_RETURN_IF_ERROR(CheckCollectives());
  CrossTraffic before = traffic();
  const absl::Status status = executor_->Steps(
      run.first(), run.count(), [&](int64_t number, const StepReport& report) {
        MW_RETURN_IF_ERROR(CheckCollectives());
        proto::StepDone done = ToProto(number, report, run.timed_actions());
        done.set_memory_bytes(memory_bytes_);
        const CrossTraffic after = traffic();
        done.set_wire_bytes(done.wire_bytes() + after.bytes_sent -
                            before.bytes_sent);
        done.set_wire_seconds(done.wire_seconds() + after.seconds_waited -
                              before.seconds_waited);
        before = after;
        return send(std::move(done));
      });
  MW_RETURN_IF_ERROR(CheckCollectives());
  return status;
}

absl::Status LoadedJob::Read(
    const proto::ReadArrays& what, uint64_t id,
    const AttachedMemories& memories,
    const std::function<absl::Status(proto::TensorPart)>& send) {
  MW_RETURN_IF_ERROR(CheckCollectives());
  const Job& job = executor_->job();
  for (int i = 0; i < what.shards_size(); ++i) {
    const proto::ShardWanted& wanted = what.shards(i);
    const ShardAt at{
        wanted.output() ? ShardAt::Kind::kOutput : ShardAt::Kind::kState,
        wanted.index(), wanted.device()};
    const int64_t count = wanted.output() ? std::ssize(job.step.outputs)
                                          : std::ssize(job.parameters);
    if (at.index < 0 || at.index >= count || !executor_->IsHere(at)) {
      return absl::InvalidArgumentError(
          absl::StrCat("array ", at.index, " is not on device ", at.device));
    }
    if (wanted.has_into()) {
      MW_RETURN_IF_ERROR(ReadInto(at, wanted.into(), memories));
      continue;
    }
    MW_ASSIGN_OR_RETURN(const BufferShape shape, executor_->ShapeOf(at));
    const size_t size = shape.host_bytes();
    const std::shared_ptr<char> shard = AllocateHostMemory(shape.host_bytes());
    MW_RETURN_IF_ERROR(
        executor_->Read(at, {reinterpret_cast<std::byte*>(shard.get()), size}));
    MW_RETURN_IF_ERROR(
        ForEachPart({shard.get(), size},
                    [&](int64_t offset, absl::string_view bytes, bool last) {
                      proto::TensorPart part;
                      part.set_id(id);
                      part.set_index(i);
                      part.set_offset(offset);
                      part.set_bytes(std::string(bytes));
                      part.set_last(last);
                      return send(std::move(part));
                    }));
  }
  return absl::OkStatus();
}

absl::Status LoadedJob::Save(const proto::SaveState& what,
                             const SendSaved& send) {
  MW_RETURN_IF_ERROR(CheckCollectives());
  MW_ASSIGN_OR_RETURN(StateMap map,
                      ReadStateMap(what.state(), executor_->job()));
  if (writer_.joinable()) writer_.join();
  MW_ASSIGN_OR_RETURN(
      std::unique_ptr<StateFiles> files,
      StateFiles::Make(executor_.get(), std::move(map), what.copy()));
  if (!what.copy()) {
    WriteAndTell(*files, what.folder(), what.save(), send);
    return absl::OkStatus();
  }
  writer_ = std::thread([files = std::move(files), folder = what.folder(),
                         save = what.save(),
                         send] { WriteAndTell(*files, folder, save, send); });
  return absl::OkStatus();
}

absl::Status LoadedJob::Restore(const proto::RestoreState& what) {
  MW_ASSIGN_OR_RETURN(const StateMap map,
                      ReadStateMap(what.state(), executor_->job()));
  const absl::Status read = ReadStateFiles(what.folder(), map, *executor_);
  // None of these errors ends the job.
  return read.ok() ? read : absl::InvalidArgumentError(read.message());
}

absl::Status LoadedJob::Share(const LoadedJob& from,
                              const proto::ShareState& what) {
  MW_RETURN_IF_ERROR(from.CheckCollectives());
  std::vector<SharedParameter> pairs;
  for (const proto::ShareState::Pair& pair : what.parameters()) {
    pairs.push_back({.from = pair.from(), .to = pair.to()});
  }
  return executor_->Share(*from.executor_, pairs);
}

void LoadedJob::Abort(const absl::Status& why) {
  if (wire_ != nullptr) wire_->Abort(why);
}

}  // namespace meshwright
