#include "meshwright/runtime/job_runner.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/runtime/check_size.h"
#include "meshwright/runtime/shard_transfer.h"
#include "meshwright/runtime/synthetic_inputs.h"
#include "meshwright/state/shard_tensor.h"

namespace meshwright {
namespace {

// Part `index` of `count` along a dimension.
Tensor PartOf(const Tensor& tensor, int64_t dimension, int64_t index,
              int64_t count) {
  const Mesh time = Mesh::Create({{"time", count}}).value();
  Sharding sharding = Sharding::Replicated(tensor.dimensions);
  sharding.dims[dimension] = {
      {tensor.dimensions[dimension], time.AllSubAxes()}};
  return Shard(tensor, sharding, time, index);
}

absl::Span<const std::byte> BytesOf(const Tensor& tensor) {
  return {reinterpret_cast<const std::byte*>(tensor.data.data()),
          tensor.data.size()};
}

absl::Span<std::byte> BytesOf(Tensor& tensor) {
  return {reinterpret_cast<std::byte*>(tensor.data.data()), tensor.data.size()};
}

int64_t WholeBytes(const Shape& shape) {
  return CheckedBytes(shape.dimensions, HostBytes(shape.element_type)).value();
}

}  // namespace

JobRunner::JobRunner(const Module& module, const Job* job,
                     std::unique_ptr<JobSite> site)
    : module_(module),
      job_(*job),
      site_(std::move(site)),
      saver_(site_.get()),
      roles_(AnalyzeRoles(module)),
      is_given_(roles_.parameters.size()),
      is_fed_(roles_.parameters.size()) {}

absl::Status JobRunner::PutWhole(int64_t number, Tensor tensor, int64_t batch) {
  MW_RETURN_IF_ERROR(Conform(job_.parameters[number].shape, tensor));
  const auto given = [](Tensor own) {
    const auto owner = std::make_shared<const Tensor>(std::move(own));
    return GivenArray{.bytes = BytesOf(*owner), .owner = owner};
  };
  const std::optional<int64_t> batch_dim = job_.BatchDimOf(number);
  if (batch_dim.value_or(0) == 0) {
    return PutGiven(number, given(std::move(tensor)), batch);
  }
  const int64_t count = job_.step.micro_batches;
  for (int64_t t = 0; t < count; ++t) {
    MW_RETURN_IF_ERROR(SendPart(
        number, t, given(PartOf(tensor, *batch_dim, t, count)), batch));
  }
  return absl::OkStatus();
}

absl::Status JobRunner::SetParameter(int64_t number, Tensor tensor) {
  MW_RETURN_IF_ERROR(PutWhole(number, std::move(tensor), /*batch=*/0));
  is_given_[number] = true;
  return absl::OkStatus();
}

absl::Status JobRunner::FillSynthetic(uint64_t seed) {
  return ForEachSynthetic(module_, roles_, seed,
                          [this](int64_t number, Tensor tensor) {
                            if (is_fed_[number]) return absl::OkStatus();
                            return SetParameter(number, std::move(tensor));
                          });
}

absl::Status JobRunner::CheckNotFed(int64_t parameter) const {
  if (!is_fed_[parameter]) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("parameter ", roles_.parameters[parameter].name,
                   " comes from a dataset; end that first"));
}

absl::StatusOr<int64_t> JobRunner::FindSettable(const std::string& name) const {
  MW_ASSIGN_OR_RETURN(const int64_t number, FindParameter(roles_, name));
  MW_RETURN_IF_ERROR(CheckNotFed(number));
  return number;
}

absl::Status JobRunner::Set(std::vector<Tensor> tensors) {
  for (Tensor& tensor : tensors) {
    MW_ASSIGN_OR_RETURN(const int64_t number, FindSettable(tensor.name));
    MW_RETURN_IF_ERROR(SetParameter(number, std::move(tensor)));
  }
  return absl::OkStatus();
}

absl::Status JobRunner::SetLent(LentTensor tensor) {
  MW_ASSIGN_OR_RETURN(const int64_t number, FindSettable(tensor.tensor.name));
  MW_RETURN_IF_ERROR(Put(number, std::move(tensor), /*batch=*/0));
  is_given_[number] = true;
  return absl::OkStatus();
}

absl::Status JobRunner::Put(int64_t number, LentTensor tensor, int64_t batch) {
  const Shape& shape = job_.parameters[number].shape;
  // What is to be converted, or cut elsewhere than in rows, is copied.
  const bool is_as_given = tensor.is_lent() &&
                           tensor.tensor.type == shape.element_type &&
                           tensor.tensor.dimensions == shape.dimensions &&
                           std::ssize(tensor.bytes) == WholeBytes(shape) &&
                           job_.BatchDimOf(number).value_or(0) == 0;
  return is_as_given ? PutGiven(number,
                                {.bytes = tensor.bytes,
                                 .owner = tensor.owner,
                                 .is_lent = true},
                                batch)
                     : PutWhole(number, Owned(std::move(tensor)), batch);
}

absl::Status JobRunner::PutGiven(int64_t number, const GivenArray& given,
                                 int64_t batch) {
  const size_t count =
      job_.BatchDimOf(number).has_value() ? job_.step.micro_batches : 1;
  const size_t part = given.bytes.size() / count;
  for (size_t t = 0; t < count; ++t) {
    MW_RETURN_IF_ERROR(SendPart(number, static_cast<int64_t>(t),
                                {.bytes = given.bytes.subspan(t * part, part),
                                 .owner = given.owner,
                                 .is_lent = given.is_lent},
                                batch));
  }
  return absl::OkStatus();
}

absl::Status JobRunner::SendPart(int64_t number, int64_t micro_batch,
                                 const GivenArray& part, int64_t batch) {
  for (const auto& [key, sharding] : job_.layout.parameters) {
    const auto& [parameter, stage] = key;
    if (parameter != number || (job_.parameters[number].is_state &&
                                stage != job_.step.homes[number])) {
      continue;
    }
    for (std::vector<int64_t>& devices :
         ShardHolders(sharding, job_.layout.meshes[stage])) {
      MW_RETURN_IF_ERROR(site_->Set({.parameter = number,
                                     .stage = stage,
                                     .micro_batch = micro_batch,
                                     .devices = std::move(devices),
                                     .batch = batch},
                                    part));
    }
  }
  return absl::OkStatus();
}

absl::Status JobRunner::Init(const Module& init, std::vector<Tensor> arguments,
                             uint64_t seed) {
  MW_ASSIGN_OR_RETURN(const std::vector<InitPiece> pieces,
                      MatchInit(init, module_, roles_));
  return InitPieces(init, pieces, std::move(arguments), seed);
}

absl::Status JobRunner::InitPieces(const Module& init,
                                   const std::vector<InitPiece>& pieces,
                                   std::vector<Tensor> arguments,
                                   uint64_t seed) {
  MW_ASSIGN_OR_RETURN(InitJob made, MakeInitJob(init, pieces, job_));
  MW_ASSIGN_OR_RETURN(std::unique_ptr<JobSite> site,
                      site_->LoadInit(std::move(made.source)));
  JobSite& init_site = *site;
  JobRunner runner(*made.module, &init_site.job(), std::move(site));
  MW_RETURN_IF_ERROR(runner.FillSynthetic(seed));
  MW_RETURN_IF_ERROR(runner.Set(std::move(arguments)));
  MW_RETURN_IF_ERROR(runner.Steps(1).status());
  MW_RETURN_IF_ERROR(site_->Adopt(init_site, made.parameters));
  for (const int64_t parameter : made.parameters) is_given_[parameter] = true;
  return absl::OkStatus();
}

absl::Status JobRunner::Feed(const std::string& dataset, int64_t position) {
  const std::vector<bool> was_fed =
      std::exchange(is_fed_, std::vector<bool>(is_fed_.size()));
  MW_RETURN_IF_ERROR(site_->Feed(nullptr, 0));
  if (dataset.empty()) return absl::OkStatus();
  // Whatever fails below, no step uses an old or synthetic batch instead of one
  // from the dataset.
  for (size_t i = 0; i < was_fed.size(); ++i) {
    if (was_fed[i]) is_given_[i] = false;
  }
  MW_ASSIGN_OR_RETURN(const DatasetSpec spec, ParseDatasetSpec(dataset));
  const absl::Status fed = site_->Feed(&spec, position);
  for (size_t i = 0; i < is_fed_.size(); ++i) {
    if (job_.parameters[i].is_state ||
        !spec.parameters.contains(roles_.parameters[i].name)) {
      continue;
    }
    is_fed_[i] = is_given_[i] = fed.ok();
  }
  return fed;
}

absl::Status JobRunner::CheckGiven(int64_t parameter) const {
  if (is_given_[parameter]) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "parameter \"", roles_.parameters[parameter].name, "\" has no value"));
}

absl::StatusOr<std::vector<StepResult>> JobRunner::Steps(int64_t count) {
  for (size_t i = 0; i < is_given_.size(); ++i) {
    MW_RETURN_IF_ERROR(CheckGiven(static_cast<int64_t>(i)));
  }
  MW_ASSIGN_OR_RETURN(const std::vector<StepReport> reports,
                      site_->Steps(count));
  std::vector<StepResult> results;
  for (const StepReport& report : reports) {
    results.push_back({.seconds = report.seconds, .loss = report.loss});
  }
  if (reports.empty()) return results;
  execution_ = ExecutionOf(job_, reports.back());
  for (const WorkerRecord& worker : reports.back().workers) {
    worker_bytes_ = std::max(worker_bytes_, worker.memory_bytes);
  }
  return results;
}

absl::StatusOr<std::optional<PeakMemory>> JobRunner::FindPeak() {
  if (executor() != nullptr) return MeasurePeak(*executor());
  if (worker_bytes_ == 0) return std::nullopt;
  return PeakMemory{.bytes = worker_bytes_,
                    .source = PeakMemory::Source::kCompiler};
}

absl::StatusOr<StepResult> JobRunner::Step() {
  MW_ASSIGN_OR_RETURN(const std::vector<StepResult> results, Steps(1));
  return results[0];
}

absl::StatusOr<Tensor> JobRunner::ReadArray(ShardAt::Kind kind,
                                            int64_t index) const {
  const BufferShape shape = PlaceOf(job_, ShardAt{kind, index, 0}).whole();
  Tensor whole = {.type = shape.type, .dimensions = shape.dimensions};
  whole.data.resize(shape.host_bytes());
  MW_RETURN_IF_ERROR(site_->ReadWhole(kind, index, BytesOf(whole)));
  return whole;
}

absl::Status JobRunner::CheckCopies(ShardAt::Kind kind, int64_t index) const {
  const auto [sharding, mesh, type] = PlaceOf(job_, ShardAt{kind, index, 0});
  std::vector<Tensor> shards(mesh->device_count());
  std::vector<ShardAt> wanted;
  std::vector<absl::Span<std::byte>> into;
  for (int64_t device = 0; device < std::ssize(shards); ++device) {
    Tensor& shard = shards[device];
    shard.type = type;
    shard.dimensions = LocalDimensions(*sharding, *mesh);
    shard.data.resize(BufferShape{type, shard.dimensions}.host_bytes());
    wanted.push_back({kind, index, device});
    into.push_back(BytesOf(shard));
  }
  MW_RETURN_IF_ERROR(site_->Read(wanted, into));
  const Tensor whole = Unshard(shards, *sharding, *mesh);
  const auto other = FindDifference(whole, shards, *sharding, *mesh);
  if (!other.has_value()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("the copy on device ", *other, " differs"));
}

absl::StatusOr<std::vector<Tensor>> JobRunner::ReadState() const {
  std::vector<Tensor> state;
  for (const StatePair& pair : roles_.state_pairs) {
    MW_ASSIGN_OR_RETURN(state.emplace_back(),
                        ReadArray(ShardAt::Kind::kState, pair.parameter));
    state.back().name = roles_.parameters[pair.parameter].name;
  }
  return state;
}

absl::StatusOr<std::vector<Tensor>> JobRunner::ReadOutputs() const {
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < roles_.outputs.size(); ++i) {
    MW_ASSIGN_OR_RETURN(
        outputs.emplace_back(),
        ReadArray(ShardAt::Kind::kOutput, static_cast<int64_t>(i)));
    outputs.back().name = roles_.outputs[i].name;
  }
  return outputs;
}

absl::StatusOr<Tensor> JobRunner::Read(const std::string& name) const {
  MW_ASSIGN_OR_RETURN(const NamedArray found, FindReadable(roles_, name));
  MW_ASSIGN_OR_RETURN(
      Tensor tensor,
      ReadArray(found.is_state ? ShardAt::Kind::kState : ShardAt::Kind::kOutput,
                found.index));
  tensor.name = name;
  return tensor;
}

absl::StatusOr<Tensor> JobRunner::ReadInto(const std::string& name,
                                           absl::Span<std::byte> bytes) const {
  MW_ASSIGN_OR_RETURN(const NamedArray found, FindReadable(roles_, name));
  const ShardAt::Kind kind =
      found.is_state ? ShardAt::Kind::kState : ShardAt::Kind::kOutput;
  const BufferShape shape =
      PlaceOf(job_, ShardAt{kind, found.index, 0}).whole();
  Tensor tensor = {
      .name = name, .type = shape.type, .dimensions = shape.dimensions};
  MW_RETURN_IF_ERROR(
      CheckSize(name, static_cast<int64_t>(shape.host_bytes()), bytes.size()));
  MW_RETURN_IF_ERROR(site_->ReadWhole(kind, found.index, bytes));
  return tensor;
}

StateMap JobRunner::OwnState() const {
  StateMap map;
  for (const StatePair& pair : roles_.state_pairs) {
    const Shape& shape = job_.parameters[pair.parameter].shape;
    map.parts.push_back(
        {.parameter = pair.parameter,
         .tensor = std::ssize(map.tensors),
         .start = std::vector<int64_t>(shape.dimensions.size(), 0)});
    map.tensors.push_back({.name = roles_.parameters[pair.parameter].name,
                           .type = shape.element_type,
                           .dimensions = shape.dimensions});
  }
  return map;
}

absl::Status JobRunner::Save(const SaveOptions& options) {
  return SaveState(options, OwnState());
}

absl::Status JobRunner::SaveState(const SaveOptions& options, StateMap map) {
  for (const StateMap::Part& part : map.parts) {
    MW_RETURN_IF_ERROR(CheckGiven(part.parameter));
  }
  return saver_.Save(options, std::move(map));
}

absl::StatusOr<RestoredState> JobRunner::Restore(const std::string& directory) {
  return RestoreState(directory, OwnState());
}

absl::StatusOr<RestoredState> JobRunner::RestoreState(
    const std::string& directory, const StateMap& map) {
  bool is_touched = false;
  absl::StatusOr<RestoredState> restored =
      saver_.Restore(directory, map, &is_touched);
  if (!is_touched) return restored;
  for (const StateMap::Part& part : map.parts) {
    is_given_[part.parameter] = restored.ok();
  }
  return restored;
}

absl::Status JobRunner::CheckOutputCopies() const {
  for (size_t i = 0; i < roles_.outputs.size(); ++i) {
    MW_RETURN_IF_ERROR(
        Annotate(CheckCopies(ShardAt::Kind::kOutput, static_cast<int64_t>(i)),
                 roles_.outputs[i].name));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
