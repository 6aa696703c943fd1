// Presents a job as the step that it was made of: tensors are set and read
// whole and by name, whatever their shardings and wherever the devices are.
//
//   MW_ASSIGN_OR_RETURN(auto runner, MakeLocalRunner(module, client.get()));
//   MW_RETURN_IF_ERROR(runner->FillSynthetic(/*seed=*/0));
//   MW_RETURN_IF_ERROR(runner->Set(tensors));   // By parameter name.
//   MW_ASSIGN_OR_RETURN(const StepResult step, runner->Step());
//   step.loss;     // 4.85
//
// After a step, the outputs that are next values of state parameters replace
// these. All other parameters keep their values until Set again.
#ifndef MESHWRIGHT_RUNTIME_JOB_RUNNER_H_
#define MESHWRIGHT_RUNTIME_JOB_RUNNER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/hlo/module.h"
#include "meshwright/runtime/init_job.h"
#include "meshwright/runtime/job.h"
#include "meshwright/runtime/job_site.h"
#include "meshwright/runtime/peak_memory.h"
#include "meshwright/runtime/runner.h"
#include "meshwright/runtime/state_saver.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

class JobRunner : public Runner {
 public:
  // `module` is the whole step that `job` was made of; it and the job, which
  // `site` runs, must outlive the runner.
  JobRunner(const Module& module, const Job* job,
            std::unique_ptr<JobSite> site);

  JobRunner* AsJob() override { return this; }
  const ModuleRoles& roles() const override { return roles_; }
  absl::Status FillSynthetic(uint64_t seed) override;
  absl::Status Set(std::vector<Tensor> tensors) override;
  absl::Status SetLent(LentTensor tensor) override;
  // Up to so many at once.
  static constexpr size_t kMaxStaged = 8;
  absl::Status Stage(int64_t batch, LentTensor tensor) override;
  absl::Status TakeStaged(int64_t batch) override;
  absl::Status Init(const Module& init, std::vector<Tensor> arguments,
                    uint64_t seed) override;
  // The same for the given pieces.
  absl::Status InitPieces(const Module& init,
                          const std::vector<InitPiece>& pieces,
                          std::vector<Tensor> arguments, uint64_t seed);
  absl::Status Feed(const std::string& dataset, int64_t position) override;
  std::optional<int64_t> position() const override { return site_->position(); }
  absl::StatusOr<StepResult> Step() override;
  absl::StatusOr<std::vector<StepResult>> Steps(int64_t count) override;
  absl::StatusOr<std::vector<Tensor>> ReadState() const override;
  absl::StatusOr<std::vector<Tensor>> ReadOutputs() const override;
  absl::StatusOr<Tensor> Read(const std::string& name) const override;
  absl::StatusOr<Tensor> ReadInto(const std::string& name,
                                  absl::Span<std::byte> bytes) const override;
  absl::Status Save(const SaveOptions& options) override;
  absl::Status AwaitSaved() override { return saver_.AwaitSaved(); }
  absl::StatusOr<RestoredState> Restore(const std::string& directory) override;
  // The same for a step whose state is described by the map.
  absl::Status SaveState(const SaveOptions& options, StateMap map);
  absl::StatusOr<RestoredState> RestoreState(const std::string& directory,
                                             const StateMap& map);
  // Whether parameter `pair.to` can share the array of state `pair.from` of the
  // other: all devices have the same shards of both.
  bool CanShare(const JobRunner& other, const SharedParameter& pair) const;
  // Requires: it can, for all of them.
  absl::Status Share(JobRunner& other,
                     const std::vector<SharedParameter>& pairs);
  absl::Status Drop(const std::vector<int64_t>& parameters);
  // kInternal, naming it, if an output of the last step is not bitwise equal on
  // all devices that hold replicas of it.
  absl::Status CheckOutputCopies() const;

  // As in JobSite.
  void OnStep(JobSite::StepEvent event) { site_->OnStep(std::move(event)); }
  void Abort(const absl::Status& why) { site_->Abort(why); }

  // Whether a parameter comes from a dataset.
  bool IsFed(int64_t parameter) const { return is_fed_[parameter]; }
  const Job& job() const { return job_; }
  // What happened in the last step; times in seconds since it began.
  const Simulation& execution() const { return execution_; }
  // Null if the job runs elsewhere.
  Executor* executor() { return site_->executor(); }
  // Null if it runs in this process.
  const RemoteSite* remote_site() const { return site_->remote_site(); }
  // Of a local job (MeasurePeak), or as workers reported after the last step;
  // nullopt before the first.
  absl::StatusOr<std::optional<PeakMemory>> FindPeak();

 private:
  StateMap OwnState() const;
  absl::Status CheckGiven(int64_t parameter) const;
  absl::Status CheckNotFed(int64_t parameter) const;
  absl::StatusOr<int64_t> FindSettable(const std::string& name) const;
  // `batch`: as of a ParameterShard. Staging uses nothing that other calls
  // change.
  absl::Status Put(int64_t number, LentTensor tensor, int64_t batch);
  absl::Status PutWhole(int64_t number, Tensor tensor, int64_t batch);
  absl::Status SetParameter(int64_t number, Tensor tensor);
  absl::Status PutGiven(int64_t number, const GivenArray& given, int64_t batch);
  absl::Status SendPart(int64_t number, int64_t micro_batch,
                        const GivenArray& part, int64_t batch);
  absl::StatusOr<Tensor> ReadArray(ShardAt::Kind kind, int64_t index) const;
  absl::Status CheckCopies(ShardAt::Kind kind, int64_t index) const;

  const Module& module_;
  const Job& job_;
  const std::unique_ptr<JobSite> site_;
  StateSaver saver_;
  const ModuleRoles roles_;
  // By parameter.
  std::vector<bool> is_given_;
  std::vector<bool> is_fed_;
  Simulation execution_;
  int64_t worker_bytes_ = 0;  // What programs take per device of a worker.

  std::mutex staged_mutex_;  // Guards the members below.
  // By number: which parameters.
  std::map<int64_t, std::set<int64_t>> staged_;
  int64_t taken_ = 0;  // The last that steps took.
};

// For ranks that span workers, the times of the slowest worker.
Simulation ExecutionOf(const Job& job, const StepReport& report);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_JOB_RUNNER_H_
