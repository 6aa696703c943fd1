#include "meshwright/runtime/data_feed.h"

#include <algorithm>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/runtime/host_array.h"
#include "meshwright/state/shard_tensor.h"

namespace meshwright {
namespace {

// Batches that are read ahead.
constexpr size_t kBatchesAhead = 2;

absl::Status AsCode(absl::StatusCode code, const absl::Status& status) {
  return absl::Status(code, status.message());
}

// An error in a dataset before any step has run with it: the caller's mistake.
absl::Status BeforeSteps(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kOutOfRange:
      return AsCode(absl::StatusCode::kInvalidArgument, status);
    default:
      return status;
  }
}

// An error in later batches: steps are in progress on all workers, and end with
// it.
absl::Status AmongSteps(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
      return AsCode(absl::StatusCode::kOutOfRange, status);
    default:
      return status;
  }
}

// The rows that micro-batch `index` of `count` gets.
std::vector<int64_t> RowsOfPart(int64_t batch, int64_t index, int64_t count) {
  const Mesh time = Mesh::Create({{"time", count}}).value();
  return GlobalIndices({{batch, time.AllSubAxes()}}, time, index);
}

}  // namespace

absl::StatusOr<std::map<std::string, Shape>> FedParameters(
    const Job& job, const DatasetSpec& spec) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, field] : spec.parameters) {
    const auto found =
        std::ranges::find(job.parameters, name, &Job::Parameter::name);
    if (found == job.parameters.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("dataset: the step has no parameter \"", name,
                       "\" (meshwright inspect lists them)"));
    }
    if (found->is_state) {
      return absl::InvalidArgumentError(absl::StrCat(
          "dataset: parameter ", name, " is state, which steps compute"));
    }
    shapes[name] = found->shape;
  }
  return shapes;
}

absl::StatusOr<std::unique_ptr<DataFeed>> DataFeed::Create(
    const Where& where, const DatasetSpec& spec, int64_t position) {
  auto feed = absl::WrapUnique(new DataFeed(where, spec.sink, position));
  MW_ASSIGN_OR_RETURN(feed->parameters_, FedParameters(*where.job, spec));
  absl::StatusOr<std::unique_ptr<Dataset>> dataset =
      Dataset::Open(spec, feed->parameters_);
  if (!dataset.ok()) return BeforeSteps(dataset.status());
  feed->dataset_ = *std::move(dataset);
  MW_RETURN_IF_ERROR(feed->dataset_->order().CheckPosition(position));
  MW_RETURN_IF_ERROR(BeforeSteps(feed->FindPieces()));
  absl::StatusOr<std::shared_ptr<const Batch>> first = feed->Read(position);
  if (!first.ok()) return BeforeSteps(first.status());
  feed->ready_.push_back(*std::move(first));
  feed->next_position_ += feed->dataset_->batch();
  feed->thread_ = std::thread([feed = feed.get()] { feed->ReadAhead(); });
  return feed;
}

DataFeed::~DataFeed() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

absl::Status DataFeed::FindPieces() {
  for (const auto& [key, sharding] : where_.job->layout.parameters) {
    if (!parameters_.contains(where_.job->parameters[key.first].name)) continue;
    MW_RETURN_IF_ERROR(FindPieces(key.first, key.second));
  }
  for (const Piece& piece : pieces_) {
    MW_RETURN_IF_ERROR(dataset_->CheckRows(next_position_, piece.rows));
  }
  return absl::OkStatus();
}

absl::Status DataFeed::FindPieces(int64_t parameter, StageId stage) {
  const Job& job = *where_.job;
  const Sharding& sharding = job.layout.parameters.at({parameter, stage});
  const Mesh& mesh = job.layout.meshes[stage];
  const std::optional<int64_t> batch_dim = job.BatchDimOf(parameter);
  if (batch_dim.has_value() && *batch_dim != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dataset: parameter ", job.parameters[parameter].name,
        ": its batch is dimension ", *batch_dim, ", not the first"));
  }
  const int64_t count = batch_dim.has_value() ? job.step.micro_batches : 1;
  const AxisList batch_axes = AxesOf(sharding.dims[0]);
  const AxisList split = SplitAxes(sharding);
  std::vector<std::vector<int64_t>> rows_of_readers(mesh.Size(batch_axes));
  for (int64_t t = 0; t < count; ++t) {
    const std::vector<int64_t> part = RowsOfPart(dataset_->batch(), t, count);
    std::map<int64_t, Piece> pieces;  // By index of a shard.
    for (int64_t device = 0; device < mesh.device_count(); ++device) {
      std::vector<int64_t> rows = GlobalIndices(sharding.dims[0], mesh, device);
      for (int64_t& row : rows) row = row < 0 ? row : part[row];
      std::vector<int64_t>& all =
          rows_of_readers[mesh.Coordinate(device, batch_axes)];
      all.insert(all.end(), rows.begin(), rows.end());
      if ((*where_.own)[stage].index_of[device] < 0) continue;
      Piece& piece = pieces[mesh.Coordinate(device, split)];
      piece.rows = std::move(rows);
      piece.devices.push_back(device);
    }
    for (auto& [shard, piece] : pieces) {
      piece.parameter = parameter;
      piece.stage = stage;
      piece.micro_batch = t;
      pieces_.push_back(std::move(piece));
    }
  }
  return dataset_->order().CheckReaders(rows_of_readers);
}

absl::StatusOr<std::shared_ptr<const DataFeed::Batch>> DataFeed::Read(
    int64_t position) {
  const Job& job = *where_.job;
  auto batch = std::make_shared<Batch>();
  for (const Piece& piece : pieces_) {
    const OwnDevices& own = (*where_.own)[piece.stage];
    const Mesh& mesh = job.layout.meshes[piece.stage];
    MW_ASSIGN_OR_RETURN(Tensor rows,
                        dataset_->ReadRows(job.parameters[piece.parameter].name,
                                           position, piece.rows, job.padding));
    // Only these rows remain to be split along the other dimensions.
    Sharding sharding =
        job.layout.parameters.at({piece.parameter, piece.stage});
    sharding.dims[0] = {{std::ssize(piece.rows), {}}};
    const HostArray host =
        AsHostArray(Shard(rows, sharding, mesh, piece.devices[0], job.padding));
    std::vector<SharedArray>& arrays = (*batch)[{piece.parameter, piece.stage}];
    if (std::ssize(arrays) <= piece.micro_batch) {
      arrays.push_back(std::make_shared<OwnArray>(own.size()));
    }
    for (const int64_t device : piece.devices) {
      const int32_t index = own.index_of[device];
      MW_ASSIGN_OR_RETURN((*arrays[piece.micro_batch])[index],
                          where_.client->FromHost(host, *own.devices[index]));
    }
  }
  return batch;
}

void DataFeed::ReadAhead() {
  // The first batch was read before.
  for (int64_t made = 1; sink_ == 0 || made < sink_; ++made) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock,
                    [&] { return is_over_ || ready_.size() < kBatchesAhead; });
      if (is_over_) return;
    }
    absl::StatusOr<std::shared_ptr<const Batch>> batch = Read(next_position_);
    {
      const std::lock_guard lock(mutex_);
      if (batch.ok()) ready_.push_back(*std::move(batch));
      failure_ = AmongSteps(batch.status());
    }
    changed_.notify_all();
    if (!failure_.ok()) return;
    next_position_ += dataset_->batch();
  }
}

absl::StatusOr<std::shared_ptr<const DataFeed::Batch>> DataFeed::Next() {
  const int64_t number = taken_++;
  if (sink_ > 0 && number >= sink_) return kept_[number % sink_];
  std::shared_ptr<const Batch> batch;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !ready_.empty() || !failure_.ok(); });
    if (ready_.empty()) return failure_;
    batch = std::move(ready_.front());
    ready_.pop_front();
  }
  changed_.notify_all();
  if (sink_ > 0) kept_.push_back(batch);
  return batch;
}

}  // namespace meshwright
