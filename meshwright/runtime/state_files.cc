#include "meshwright/runtime/state_files.h"

#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/host_memory.h"
#include "meshwright/base/side_by_side.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/checkpoint/reader.h"
#include "meshwright/state/shard_tensor.h"

namespace meshwright {
namespace {

// Bytes of shards that are read before they are transferred to devices.
constexpr int64_t kBatchBytes = int64_t{64} << 20;

// A shard that some of the worker's devices hold.
struct OwnShard {
  int64_t parameter = 0;
  StageId stage;
  std::vector<int64_t> devices;
  BufferShape shape;
  std::shared_ptr<char> data;
};

// What is read from files at once, and where it goes.
struct Batch {
  std::vector<OwnShard> shards;
  std::vector<WantedRegion> wanted;
  int64_t bytes = 0;
};

// The shards of a parameter that local devices hold.
std::vector<OwnShard> OwnShards(const Executor& executor, int64_t parameter) {
  const Job& job = executor.job();
  const StageId stage = job.step.homes[parameter];
  const Sharding& sharding = job.layout.parameters.at({parameter, stage});
  const Mesh& mesh = job.layout.meshes[stage];
  std::vector<OwnShard> shards;
  for (const auto& holders : ShardHolders(sharding, mesh)) {
    OwnShard shard{.parameter = parameter,
                   .stage = stage,
                   .shape = {job.parameters[parameter].shape.element_type,
                             LocalDimensions(sharding, mesh)}};
    for (const int64_t device : holders) {
      if (executor.IsHere({.index = parameter, .device = device})) {
        shard.devices.push_back(device);
      }
    }
    if (!shard.devices.empty()) shards.push_back(std::move(shard));
  }
  return shards;
}

// Allocates memory for a shard, and adds the regions to be read into it.
void Prepare(const SavedTensor& saved, const StateMap::Part& part,
             const Job& job, OwnShard& shard,
             std::vector<WantedRegion>& wanted) {
  const int64_t bytes = shard.shape.host_bytes();
  shard.data = AllocateHostMemory(bytes);
  const Sharding& sharding =
      job.layout.parameters.at({shard.parameter, shard.stage});
  int64_t covered = 0;
  for (const ShardBox& box : ShardBoxes(
           sharding, job.layout.meshes[shard.stage], shard.devices.front())) {
    WantedRegion want{.tensor = &saved,
                      .data = shard.data.get(),
                      .box = {shard.shape.dimensions, box.local_start}};
    want.region.start = part.start;
    for (size_t d = 0; d < box.start.size(); ++d) {
      want.region.start[d] += box.start[d];
      want.region.limit.push_back(want.region.start[d] + box.size[d]);
    }
    covered += want.region.element_count() * HostBytes(shard.shape.type);
    wanted.push_back(std::move(want));
  }
  if (covered < bytes) std::memset(shard.data.get(), job.padding, bytes);
}

absl::Status Give(const std::vector<OwnShard>& shards, Executor& executor) {
  for (const OwnShard& shard : shards) {
    MW_RETURN_IF_ERROR(executor.Set(
        {.parameter = shard.parameter,
         .stage = shard.stage,
         .devices = shard.devices},
        HostArray{
            .bytes = {reinterpret_cast<const std::byte*>(shard.data.get()),
                      static_cast<size_t>(shard.shape.host_bytes())},
            .shape = shard.shape,
            .owner = shard.data}));
  }
  return absl::OkStatus();
}

}  // namespace

StateFiles::StateFiles(const Executor* executor, StateMap map)
    : executor_(executor),
      map_(std::move(map)),
      plan_(PlanSave(map_, executor->job())) {}

absl::StatusOr<std::unique_ptr<StateFiles>> StateFiles::Make(
    const Executor* executor, StateMap map, bool copy) {
  auto files = absl::WrapUnique(new StateFiles(executor, std::move(map)));
  if (copy) MW_RETURN_IF_ERROR(files->Copy());
  return files;
}

absl::StatusOr<HostBox> StateFiles::Fetch(
    const SavePlan::Source& source) const {
  const ShardAt at{.index = source.parameter, .device = source.device};
  if (const auto found = copies_.find({source.parameter, source.device});
      found != copies_.end()) {
    HostBox box = found->second;
    box.box.start = source.local_start;
    return box;
  }
  MW_ASSIGN_OR_RETURN(const BufferShape shape, executor_->ShapeOf(at));
  const std::shared_ptr<char> data = AllocateHostMemory(shape.host_bytes());
  MW_RETURN_IF_ERROR(
      executor_->Read(at, {reinterpret_cast<std::byte*>(data.get()),
                           static_cast<size_t>(shape.host_bytes())}));
  return HostBox{.data = data.get(),
                 .box = {shape.dimensions, source.local_start},
                 .owner = data};
}

absl::Status StateFiles::Copy() {
  std::vector<SavePlan::Source> wanted;
  std::set<Key> seen;
  for (const SavePlan::File& file : plan_.files) {
    if (file.worker != executor_->worker()) continue;
    for (const SavePlan::Source& source : file.sources) {
      if (seen.insert({source.parameter, source.device}).second) {
        wanted.push_back(source);
      }
    }
  }
  std::vector<absl::StatusOr<HostBox>> copied(wanted.size(), HostBox());
  SideBySide(static_cast<int>(wanted.size()),
             [&](int i) { copied[i] = Fetch(wanted[i]); });
  for (size_t i = 0; i < wanted.size(); ++i) {
    MW_RETURN_IF_ERROR(copied[i].status());
    copies_[{wanted[i].parameter, wanted[i].device}] = *std::move(copied[i]);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<int64_t, WrittenFile>> StateFiles::Write(
    const std::string& folder) const {
  std::vector<int64_t> own;
  for (int64_t i = 0; i < std::ssize(plan_.files); ++i) {
    if (plan_.files[i].worker == executor_->worker()) own.push_back(i);
  }
  std::mutex mutex;
  absl::Status status;
  std::map<int64_t, WrittenFile> written;
  SideBySide(static_cast<int>(own.size()), [&](int i) {
    {
      const std::lock_guard lock(mutex);
      if (!status.ok()) return;
    }
    const SavePlan::File& file = plan_.files[own[i]];
    size_t next = 0;
    // Pieces of one shard are consecutive.
    std::optional<std::pair<Key, HostBox>> last;
    absl::StatusOr<WrittenFile> made =
        WriteShardFile(folder, map_.tensors, file.plan,
                       [&](const FilePlan::Entry&) -> absl::StatusOr<HostBox> {
                         const SavePlan::Source& source = file.sources[next++];
                         const Key key = {source.parameter, source.device};
                         if (!last.has_value() || last->first != key) {
                           last = std::nullopt;
                           MW_ASSIGN_OR_RETURN(HostBox box, Fetch(source));
                           last = {key, std::move(box)};
                         }
                         HostBox box = last->second;
                         box.box.start = source.local_start;
                         return box;
                       });
    const std::lock_guard lock(mutex);
    if (made.ok()) {
      written[own[i]] = *std::move(made);
    } else {
      status.Update(made.status());
    }
  });
  MW_RETURN_IF_ERROR(status);
  return written;
}

absl::Status CheckTensors(const Manifest& manifest, const StateMap& map) {
  std::set<std::string> names;
  for (const TensorInfo& info : map.tensors) {
    names.insert(info.name);
    const SavedTensor* const saved = manifest.Find(info.name);
    if (saved == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("has no ", info.name, " ", info.ShapeText(),
                       ", which the step's state has"));
    }
    if (saved->info != info) {
      return absl::InvalidArgumentError(
          absl::StrCat(info.name, ": is ", saved->info.ShapeText(),
                       ", expected ", info.ShapeText()));
    }
  }
  for (const SavedTensor& saved : manifest.tensors) {
    if (!names.contains(saved.info.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("has ", saved.info.name, ", which is not among the ",
                       names.size(), " tensors of the step's state"));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadStateFiles(const std::string& folder, const StateMap& map,
                            Executor& executor) {
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> reader,
                      CheckpointReader::Open(folder));
  MW_RETURN_IF_ERROR(Annotate(CheckTensors(reader->manifest(), map), folder));
  Batch next;
  Batch current;
  // The disk reads the next batch while the current one is put in place.
  const auto read = [&]() -> absl::Status {
    reader->ReadAhead(next.wanted);
    MW_RETURN_IF_ERROR(reader->Read(current.wanted));
    MW_RETURN_IF_ERROR(Give(current.shards, executor));
    current = std::exchange(next, {});
    return absl::OkStatus();
  };
  for (const StateMap::Part& part : map.parts) {
    const SavedTensor& saved =
        *reader->manifest().Find(map.tensors[part.tensor].name);
    for (OwnShard& shard : OwnShards(executor, part.parameter)) {
      Prepare(saved, part, executor.job(), shard, next.wanted);
      next.bytes += shard.shape.host_bytes();
      next.shards.push_back(std::move(shard));
    }
    // All regions of a tensor are read together.
    if (next.bytes >= kBatchBytes) MW_RETURN_IF_ERROR(read());
  }
  MW_RETURN_IF_ERROR(read());
  return read();
}

}  // namespace meshwright
