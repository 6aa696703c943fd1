#include "meshwright/runtime/executor.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/runtime/collective_options.h"
#include "meshwright/runtime/host_array.h"
#include "meshwright/runtime/running_step.h"

namespace meshwright {
namespace {

absl::StatusOr<Tensor> ReadShard(const Buffer& buffer) {
  Tensor tensor{.type = buffer.shape().type,
                .dimensions = buffer.shape().dimensions};
  tensor.data.resize(buffer.shape().host_bytes());
  MW_RETURN_IF_ERROR(buffer.ReadToHost(
      {reinterpret_cast<std::byte*>(tensor.data.data()), tensor.data.size()}));
  return tensor;
}

}  // namespace

Executor::Executor(Job job, const Options& options)
    : options_(options),
      programs_{.job = std::move(job)},
      mover_(options.client) {
  if (options.wire != nullptr) {
    shipper_ = std::make_unique<Shipper>(options.wire);
  }
}

absl::StatusOr<std::unique_ptr<Executor>> Executor::Create(
    Job job, const std::vector<std::string>& programs, const Options& options) {
  std::unique_ptr<Executor> executor(new Executor(std::move(job), options));
  MW_RETURN_IF_ERROR(executor->FindDevices());
  executor->FindRanks();
  MW_RETURN_IF_ERROR(executor->Compile(programs));
  executor->routes_ = RoutesOf(executor->job());
  MW_RETURN_IF_ERROR(executor->UploadNumbers());
  return executor;
}

absl::Status Executor::FindDevices() {
  const auto present = options_.client->devices();
  for (const std::vector<DeviceAt>& stage : job().devices) {
    OwnDevices& own = programs_.own.emplace_back();
    own.index_of.assign(stage.size(), -1);
    for (size_t position = 0; position < stage.size(); ++position) {
      const DeviceAt& at = stage[position];
      if (at.worker != options_.worker) continue;
      if (at.device >= std::ssize(present)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "the step needs ", at.device + 1, " devices, ",
            options_.client->platform_name(), " has ", present.size()));
      }
      own.index_of[position] = static_cast<int32_t>(own.size());
      own.positions.push_back(static_cast<int64_t>(position));
      own.devices.push_back(present[at.device]);
    }
  }
  return absl::OkStatus();
}

void Executor::FindRanks() {
  const std::vector<int>& rank_of = job().timetable.rank_of_stage;
  for (int rank = 0; rank < job().timetable.ranks(); ++rank) {
    for (size_t stage = 0; stage < rank_of.size(); ++stage) {
      if (rank_of[stage] == rank && !programs_.own[stage].empty()) {
        ranks_.push_back(rank);
        break;
      }
    }
  }
  threads_ = std::make_unique<RankThreads>(static_cast<int>(ranks_.size()));
}

// The devices for which a stage's programs are compiled: all of them if the
// client knows those of other workers, otherwise the local ones.
absl::StatusOr<std::vector<int>> Executor::DeviceIds(StageId stage) const {
  const absl::Span<const DevicePlace> all = options_.client->all_devices();
  std::vector<int> ids;
  if (all.size() == options_.client->devices().size()) {
    for (const Device* device : programs_.own[stage].devices) {
      ids.push_back(device->id());
    }
    return ids;
  }
  for (const DeviceAt& at : job().devices[stage]) {
    int32_t device = 0;  // Index among the worker's devices.
    const auto found = std::ranges::find_if(all, [&](const DevicePlace& place) {
      return place.process_index == at.worker && device++ == at.device;
    });
    if (found == all.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "worker ", at.worker, " of the job has no device ", at.device));
    }
    ids.push_back(found->id);
  }
  return ids;
}

absl::Status Executor::Compile(const std::vector<std::string>& programs) {
  Client& client = *options_.client;
  for (size_t i = 0; i < programs.size(); ++i) {
    const StageProgram& program = job().step.programs[i];
    const OwnDevices& own = programs_.own[program.stage];
    std::unique_ptr<Executable>& made = programs_.executables.emplace_back();
    if (own.empty()) continue;
    CompileOptions compile;
    MW_ASSIGN_OR_RETURN(compile.device_ids, DeviceIds(program.stage));
    compile.num_replicas = static_cast<int>(compile.device_ids.size());
    compile.xla_overrides = options_.xla_overrides;
    if (compile.num_replicas > 1) {
      compile.xla_overrides.merge(CollectiveOptions(client.platform_name()));
    }
    const Program source{.format = "hlo", .code = programs[i]};
    auto compiled = options_.cache != nullptr
                        ? options_.cache->Compile(client, source, compile)
                        : client.Compile(source, compile);
    if (!compiled.ok()) {
      return ErrorOf(job(), ProgramId(i), compiled.status());
    }
    made = *std::move(compiled);
  }
  return absl::OkStatus();
}

absl::Status Executor::UploadNumbers() {
  for (StageId stage{0}; stage < job().step.stages; ++stage) {
    std::vector<SharedArray>& numbers = inputs_.numbers.emplace_back();
    for (int64_t t = 0; t < job().step.micro_batches; ++t) {
      const auto number = static_cast<int32_t>(t);
      const HostArray host = AsHostArray(
          {.type = ElementType::kS32,
           .data = std::string(reinterpret_cast<const char*>(&number), 4)});
      auto array = std::make_shared<OwnArray>();
      for (const Device* device : programs_.own[stage].devices) {
        MW_ASSIGN_OR_RETURN(array->emplace_back(),
                            options_.client->FromHost(host, *device));
      }
      numbers.push_back(std::move(array));
    }
  }
  return absl::OkStatus();
}

absl::Status Executor::SetTimetable(Timetable timetable) {
  MW_RETURN_IF_ERROR(CheckTimetable(timetable, job().step));
  if (timetable.rank_of_stage != job().timetable.rank_of_stage) {
    return absl::InvalidArgumentError("the timetable moves stages");
  }
  programs_.job.timetable = std::move(timetable);
  return absl::OkStatus();
}

absl::Status Executor::Set(const ParameterShard& at, Tensor shard) {
  return Set(at, AsHostArray(std::move(shard)));
}

absl::Status Executor::Set(const ParameterShard& at, const HostArray& shard) {
  if (at.batch != 0) return Stage(at, shard);
  is_given_ = false;
  const OwnDevices& own = programs_.own[at.stage];
  if (own.empty()) return absl::OkStatus();
  std::vector<SharedArray>& arrays =
      inputs_.parameters[{at.parameter, at.stage}];
  const bool is_split = job().BatchDimOf(at.parameter).has_value();
  arrays.resize(is_split ? job().step.micro_batches : 1);
  SharedArray& array = arrays[at.micro_batch];
  if (array == nullptr) array = std::make_shared<OwnArray>(own.size());
  for (const int64_t position : at.devices) {
    const int32_t index = own.index_of[position];
    if (index < 0) continue;
    BufferPtr& buffer = (*array)[index];
    buffer = nullptr;
    MW_ASSIGN_OR_RETURN(buffer,
                        options_.client->FromHost(shard, *own.devices[index]));
  }
  return absl::OkStatus();
}

absl::Status Executor::Stage(const ParameterShard& at, const HostArray& shard) {
  const OwnDevices& own = programs_.own[at.stage];
  StagedBatches::Shard made = {.at = &at};
  for (const int64_t position : at.devices) {
    const int32_t index = own.index_of[position];
    if (index < 0) continue;
    auto buffer = options_.client->FromHost(shard, *own.devices[index]);
    if (!buffer.ok()) return staged_.Fail(at.batch, buffer.status());
    made.buffers.emplace_back(index, *std::move(buffer));
  }
  const bool is_split = job().BatchDimOf(at.parameter).has_value();
  made.micro_batches = is_split ? job().step.micro_batches : 1;
  made.devices = own.size();
  staged_.Add(std::move(made));
  return absl::OkStatus();
}

absl::Status Executor::TakeStaged(int64_t batch) {
  MW_ASSIGN_OR_RETURN(DataFeed::Batch taken, staged_.Take(batch));
  for (auto& [key, arrays] : taken) {
    inputs_.parameters[key] = std::move(arrays);
  }
  is_given_ = false;
  return absl::OkStatus();
}

absl::Status Executor::Feed(const DatasetSpec* spec, int64_t position) {
  feed_ = nullptr;
  if (spec == nullptr) return absl::OkStatus();
  MW_ASSIGN_OR_RETURN(feed_, DataFeed::Create({.client = options_.client,
                                               .job = &job(),
                                               .own = &programs_.own},
                                              *spec, position));
  return absl::OkStatus();
}

absl::Status Executor::TakeBatch() {
  if (feed_ == nullptr) return absl::OkStatus();
  MW_ASSIGN_OR_RETURN(const std::shared_ptr<const DataFeed::Batch> batch,
                      feed_->Next());
  for (const auto& [key, arrays] : *batch) inputs_.parameters[key] = arrays;
  return absl::OkStatus();
}

absl::Status Executor::CheckGiven() const {
  for (const auto& [key, sharding] : job().layout.parameters) {
    const auto& [number, stage] = key;
    const Job::Parameter& parameter = job().parameters[number];
    if (programs_.own[stage].empty() ||
        (parameter.is_state && stage != job().step.homes[number])) {
      continue;
    }
    const auto found = inputs_.parameters.find(key);
    bool is_given = found != inputs_.parameters.end();
    for (size_t i = 0; is_given && i < found->second.size(); ++i) {
      const SharedArray& array = found->second[i];
      is_given = array != nullptr &&
                 std::ranges::all_of(*array, [](const BufferPtr& buffer) {
                   return buffer != nullptr;
                 });
    }
    if (!is_given) {
      return absl::FailedPreconditionError(
          absl::StrCat("parameter \"", parameter.name, "\" has no value"));
    }
  }
  return absl::OkStatus();
}

// Virtual devices of CPUs compute on the threads that would start the next
// step, and stages wait for each other's transfers; a loss that is state is
// donated to the next step before it could be read.
int64_t Executor::StepsAtOnce() const {
  if (job().step.stages > 1 || options_.client->platform_name() == "cpu") {
    return 1;
  }
  if (!job().loss.has_value()) return 2;
  const StageInput& loss = job().step.outputs[*job().loss];
  const bool is_state =
      loss.kind != StageInput::Kind::kValue ||
      std::ranges::any_of(job().step.state, [&](const NextValue& next) {
        const StageInput& output = job().step.outputs[next.output];
        return output.kind == loss.kind && output.index == loss.index;
      });
  return is_state ? 1 : 2;
}

absl::Status Executor::Steps(int64_t first, int64_t count,
                             const StepDone& done) {
  MW_RETURN_IF_ERROR(failure_);
  const int64_t at_once = StepsAtOnce();
  const int64_t end = first + count;
  int64_t next = first;
  absl::Status status;  // Of starting; those before may still run.
  std::deque<std::unique_ptr<RunningStep>> running;
  while (true) {
    while (next < end && std::ssize(running) < at_once && status.ok()) {
      auto started = Start(next++, /*is_awaited=*/at_once == 1);
      status = started.status();
      if (status.ok()) running.push_back(*std::move(started));
    }
    if (running.empty()) return status;
    const std::unique_ptr<RunningStep> oldest = std::move(running.front());
    running.pop_front();
    auto report = Finish(*oldest);
    if (!report.ok()) return failure_ = report.status();
    MW_RETURN_IF_ERROR(done(oldest->courier.step(), *std::move(report)));
  }
}

absl::StatusOr<std::unique_ptr<RunningStep>> Executor::Start(int64_t number,
                                                             bool is_awaited) {
  const Stopwatch waited;
  failure_ = TakeBatch();
  MW_RETURN_IF_ERROR(failure_);
  const double wait_seconds = waited.seconds();
  if (!is_given_) MW_RETURN_IF_ERROR(CheckGiven());
  is_given_ = true;
  outputs_.clear();
  auto step =
      std::make_unique<RunningStep>(Courier::Means{.client = options_.client,
                                                   .worker = options_.worker,
                                                   .devices = &job().devices,
                                                   .own = &programs_.own,
                                                   .routes = &routes_,
                                                   .mover = &mover_,
                                                   .wire = options_.wire,
                                                   .shipper = shipper_.get()},
                                    number);
  step->wait_seconds = wait_seconds;
  const int64_t shipped = shipper_ != nullptr ? shipper_->bytes() : 0;
  const Timetable& timetable = job().timetable;
  for (const int rank : ranks_) {
    std::vector<StageId> stages;
    for (StageId stage{0}; stage < job().step.stages; ++stage) {
      if (timetable.rank_of_stage[stage] == rank) stages.push_back(stage);
    }
    step->ranks.push_back(std::make_unique<StagedRank>(
        &programs_, &inputs_, &step->courier, std::move(stages), is_awaited,
        options_.log));
  }
  if (!step->ranks.empty()) {
    threads_->Run([&](int index) {
      const absl::Status status =
          step->ranks[index]->Run(timetable.rows[ranks_[index]]);
      if (!status.ok()) step->courier.Stop(status);
    });
  }
  failure_ = step->courier.error();
  MW_RETURN_IF_ERROR(failure_);
  for (const auto& rank : step->ranks) outputs_.merge(rank->outputs());
  for (const NextValue& next : job().step.state) {
    const StageInput& output = job().step.outputs[next.output];
    if (output.kind != StageInput::Kind::kValue) continue;
    const auto found = outputs_.find(output.index);
    if (found == outputs_.end()) continue;  // Computed by other workers.
    inputs_.parameters[{next.parameter, job().step.homes[next.parameter]}] = {
        found->second};
  }
  if (shipper_ != nullptr) step->wire_bytes = shipper_->bytes() - shipped;
  const ShardAt loss = {.kind = ShardAt::Kind::kOutput,
                        .index = job().loss.value_or(0)};
  if (job().loss.has_value() && IsHere(loss)) {
    MW_ASSIGN_OR_RETURN(const Buffer* buffer, BufferOf(loss));
    MW_RETURN_IF_ERROR(step->Fetch(*buffer));
  }
  return step;
}

absl::StatusOr<StepReport> Executor::Finish(RunningStep& step) {
  for (const auto& rank : step.ranks) MW_RETURN_IF_ERROR(rank->Await());
  StepReport report{.wire_bytes = step.wire_bytes};
  MW_RETURN_IF_ERROR(step.AwaitLoss(report.loss));
  // One that was started while another ran took what is left of the time.
  report.seconds = std::min(step.wait_seconds + step.courier.clock().seconds(),
                            since_finish_.seconds());
  since_finish_ = Stopwatch();
  for (size_t i = 0; i < step.ranks.size(); ++i) {
    RankRecord& record = report.ranks.emplace_back();
    record = std::move(step.ranks[i]->record());
    record.rank = ranks_[i];
    for (TimedAction& action : record.actions) {
      action.begin = std::max(action.begin, action.end - report.seconds);
    }
  }
  return report;
}

StageId Executor::StageOf(const ShardAt& at) const {
  return at.kind == ShardAt::Kind::kState ? job().step.homes[at.index]
                                          : job().StageOfOutput(at.index);
}

bool Executor::IsHere(const ShardAt& at) const {
  const std::vector<int32_t>& index_of = programs_.own[StageOf(at)].index_of;
  return at.device >= 0 && at.device < std::ssize(index_of) &&
         index_of[at.device] >= 0;
}

absl::StatusOr<const OwnArray*> Executor::ArrayOf(const ShardAt& at) const {
  int64_t parameter = at.index;
  if (at.kind == ShardAt::Kind::kOutput) {
    const StageInput& output = job().step.outputs[at.index];
    if (output.kind == StageInput::Kind::kValue) {
      const auto found = outputs_.find(output.index);
      if (found != outputs_.end()) return found->second.get();
      return absl::FailedPreconditionError("no step has run");
    }
    parameter = output.index;
  }
  const auto found = inputs_.parameters.find({parameter, StageOf(at)});
  if (found == inputs_.parameters.end()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "parameter \"", job().parameters[parameter].name, "\" has no value"));
  }
  return found->second[0].get();
}

absl::StatusOr<const Buffer*> Executor::BufferOf(const ShardAt& at) const {
  MW_ASSIGN_OR_RETURN(const OwnArray* array, ArrayOf(at));
  const BufferPtr& buffer =
      (*array)[programs_.own[StageOf(at)].index_of[at.device]];
  if (buffer != nullptr) return buffer.get();
  return absl::FailedPreconditionError("it has no value on a device");
}

absl::StatusOr<Tensor> Executor::Read(const ShardAt& at) const {
  MW_ASSIGN_OR_RETURN(const Buffer* buffer, BufferOf(at));
  return ReadShard(*buffer);
}

absl::Status Executor::Read(const ShardAt& at,
                            absl::Span<std::byte> bytes) const {
  MW_ASSIGN_OR_RETURN(const Buffer* buffer, BufferOf(at));
  return buffer->ReadToHost(bytes);
}

absl::StatusOr<BufferShape> Executor::ShapeOf(const ShardAt& at) const {
  MW_ASSIGN_OR_RETURN(const Buffer* buffer, BufferOf(at));
  return buffer->shape();
}

}  // namespace meshwright
