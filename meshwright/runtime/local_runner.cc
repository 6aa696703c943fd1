#include "meshwright/runtime/local_runner.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/base/status_macros.h"
#include "meshwright/runtime/executor.h"
#include "meshwright/runtime/peak_memory.h"
#include "meshwright/runtime/shard_transfer.h"
#include "meshwright/runtime/state_files.h"
#include "meshwright/runtime/write_programs.h"
#include "meshwright/state/shard_tensor.h"

namespace meshwright {
namespace {

class LocalWrite : public StateWrite {
 public:
  LocalWrite(std::unique_ptr<StateFiles> files, std::string folder)
      : files_(std::move(files)), folder_(std::move(folder)) {}

  absl::StatusOr<std::vector<WrittenFile>> Await() override {
    MW_ASSIGN_OR_RETURN(auto written, files_->Write(folder_));
    std::vector<WrittenFile> files;
    for (auto& [number, file] : written) files.push_back(std::move(file));
    return files;
  }

 private:
  const std::unique_ptr<StateFiles> files_;
  const std::string folder_;
};

// The whole job is local.
class LocalSite : public JobSite {
 public:
  LocalSite(std::unique_ptr<Executor> executor, CompileCache* cache)
      : executor_(std::move(executor)),
        cache_(cache),
        memory_bytes_(PeakOfPrograms(*executor_)) {}

  const Job& job() const override { return executor_->job(); }

  absl::Status Set(const ParameterShard& at, const GivenArray& whole) override {
    return SetShard(*executor_, at, whole);
  }

  absl::Status TakeStaged(int64_t batch) override {
    return executor_->TakeStaged(batch);
  }

  absl::StatusOr<std::vector<StepReport>> Steps(int64_t count) override {
    std::vector<StepReport> reports;
    MW_RETURN_IF_ERROR(executor_->Steps(next_step_, count,
                                        [&](int64_t number, StepReport report) {
                                          report.memory_bytes = memory_bytes_;
                                          reports.push_back(std::move(report));
                                          Complete(number, reports.back());
                                          next_step_ = number + 1;
                                          return absl::OkStatus();
                                        }));
    return reports;
  }

  absl::Status Read(absl::Span<const ShardAt> shards,
                    absl::Span<const absl::Span<std::byte>> into) override {
    for (size_t i = 0; i < shards.size(); ++i) {
      MW_RETURN_IF_ERROR(executor_->Read(shards[i], into[i]));
    }
    return absl::OkStatus();
  }

  absl::Status ReadWhole(ShardAt::Kind kind, int64_t index,
                         absl::Span<std::byte> whole) override {
    const ArrayPlace place = PlaceOf(job(), ShardAt{kind, index, 0});
    for (const int64_t device : FirstCopies(*place.sharding, *place.mesh)) {
      MW_RETURN_IF_ERROR(
          ReadIntoWhole(place, device, whole, [&](absl::Span<std::byte> shard) {
            return executor_->Read({kind, index, device}, shard);
          }));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<JobSite>> LoadInit(JobSource init) override {
    Client* const client = executor_->client();
    MW_ASSIGN_OR_RETURN(
        const std::vector<std::string> programs,
        WritePrograms(init, /*worker=*/0, kJobCalls, client->platform_name()));
    MW_ASSIGN_OR_RETURN(std::unique_ptr<Executor> executor,
                        Executor::Create(std::move(init.job), programs,
                                         {.client = client, .cache = cache_}));
    return std::make_unique<LocalSite>(std::move(executor), cache_);
  }

  absl::Status Adopt(JobSite& init,
                     const std::vector<int64_t>& parameters) override {
    return executor_->Adopt(*init.executor(), parameters);
  }

  bool IsBeside(JobSite& other) const override {
    return other.executor() != nullptr &&
           other.executor()->client() == executor_->client();
  }

  absl::Status Share(JobSite& from,
                     const std::vector<SharedParameter>& pairs) override {
    return executor_->Share(*from.executor(), pairs);
  }

  absl::Status Drop(const std::vector<int64_t>& parameters) override {
    executor_->Drop(parameters);
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<StateWrite>> BeginSave(
      const StateMap& map, const std::string& folder, bool copy) override {
    MW_ASSIGN_OR_RETURN(std::unique_ptr<StateFiles> files,
                        StateFiles::Make(executor_.get(), map, copy));
    return std::make_unique<LocalWrite>(std::move(files), folder);
  }

  absl::Status ReadState(const StateMap& map,
                         const std::string& folder) override {
    return ReadStateFiles(folder, map, *executor_);
  }

  Executor* executor() override { return executor_.get(); }

 protected:
  absl::Status FeedWorkers(const DatasetSpec* spec, int64_t position) override {
    return executor_->Feed(spec, position);
  }

 private:
  int64_t steps_run() const override { return next_step_; }

  const std::unique_ptr<Executor> executor_;
  CompileCache* const cache_;
  const int64_t memory_bytes_;
  int64_t next_step_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<JobRunner>> MakeLocalRunner(
    const Module& module, JobSource source, Client* client,
    OptionMap xla_overrides, CompileCache* cache) {
  const std::vector<int64_t> devices = {std::ssize(client->devices())};
  MW_RETURN_IF_ERROR(PlaceJob(devices, source.job));
  MW_ASSIGN_OR_RETURN(
      const std::vector<std::string> programs,
      WritePrograms(source, /*worker=*/0, kJobCalls, client->platform_name()));
  MW_ASSIGN_OR_RETURN(
      std::unique_ptr<Executor> executor,
      Executor::Create(std::move(source.job), programs,
                       {.client = client,
                        .xla_overrides = std::move(xla_overrides),
                        .cache = cache}));
  const Job* const job = &executor->job();
  return std::make_unique<JobRunner>(
      module, job, std::make_unique<LocalSite>(std::move(executor), cache));
}

absl::StatusOr<std::unique_ptr<JobRunner>> MakeLocalRunner(
    const Module& module, const ShardedStep& step, Client* client,
    OptionMap xla_overrides) {
  MW_ASSIGN_OR_RETURN(JobSource source, MakeJob(module, step));
  return MakeLocalRunner(module, std::move(source), client,
                         std::move(xla_overrides));
}

absl::StatusOr<std::unique_ptr<JobRunner>> MakeLocalRunner(
    const Module& module, Client* client, OptionMap xla_overrides) {
  MW_ASSIGN_OR_RETURN(JobSource source, MakeJob(module));
  return MakeLocalRunner(module, std::move(source), client,
                         std::move(xla_overrides));
}

}  // namespace meshwright
