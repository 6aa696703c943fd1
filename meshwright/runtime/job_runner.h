// A job seen as the step that it was made of: tensors go in and come out whole,
// by name, however they lie on devices, and wherever those are.
//
//   MW_ASSIGN_OR_RETURN(auto runner, MakeLocalRunner(module, client.get()));
//   MW_RETURN_IF_ERROR(runner->FillSynthetic(/*seed=*/0));
//   MW_RETURN_IF_ERROR(runner->Set(tensors));   // By parameter name.
//   MW_ASSIGN_OR_RETURN(const StepResult step, runner->Step());
//   step.loss;     // 4.85
//
// After a step, the outputs that are the next value of a state parameter take
// that parameter's place. Everything else keeps its value until Set again.
#ifndef MESHWRIGHT_RUNTIME_JOB_RUNNER_H_
#define MESHWRIGHT_RUNTIME_JOB_RUNNER_H_

#include <cstdint>
#include <memory>
#include <optional>
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
  // `module` is the whole step that `job` was made of and outlives the runner;
  // so does the job, which `site` runs.
  JobRunner(const Module& module, const Job* job,
            std::unique_ptr<JobSite> site);

  const ModuleRoles& roles() const override { return roles_; }
  absl::Status FillSynthetic(uint64_t seed) override;
  absl::Status Set(std::vector<Tensor> tensors) override;
  absl::Status Init(const Module& init, std::vector<Tensor> arguments,
                    uint64_t seed) override;
  // The same, of what each piece says.
  absl::Status InitPieces(const Module& init,
                          const std::vector<InitPiece>& pieces,
                          std::vector<Tensor> arguments, uint64_t seed);
  absl::Status Feed(const std::string& dataset, int64_t position) override;
  std::optional<int64_t> position() const override { return site_->position(); }
  absl::StatusOr<StepResult> Step() override;
  using Runner::Steps;
  absl::StatusOr<std::vector<StepResult>> Steps(
      int64_t count, const Meanwhile& meanwhile) override;
  absl::StatusOr<std::vector<Tensor>> ReadState() const override;
  absl::StatusOr<std::vector<Tensor>> ReadOutputs() const override;
  absl::StatusOr<Tensor> Read(const std::string& name) const override;
  absl::Status Save(const SaveOptions& options) override;
  absl::Status AwaitSaved() override { return saver_.AwaitSaved(); }
  absl::StatusOr<RestoredState> Restore(const std::string& directory) override;
  // The same, of a step whose state the map says.
  absl::Status SaveState(const SaveOptions& options, StateMap map);
  absl::StatusOr<RestoredState> RestoreState(const std::string& directory,
                                             const StateMap& map);
  // kInternal, naming it, when an output of the last step is not the same, bit
  // for bit, on devices that are to hold copies of it.
  absl::Status CheckOutputCopies() const;

  // As JobSite's.
  void OnStep(JobSite::StepEvent event) { site_->OnStep(std::move(event)); }
  void Abort(const absl::Status& why) { site_->Abort(why); }

  // Whether a parameter comes from a dataset.
  bool IsFed(int64_t parameter) const { return is_fed_[parameter]; }
  const Job& job() const { return job_; }
  // What happened in the last step; seconds since it began.
  const Simulation& execution() const { return execution_; }
  // Null when it runs elsewhere.
  Executor* executor() { return site_->executor(); }
  // Of the job here (MeasurePeak), or what workers said after the last step;
  // nothing before.
  absl::StatusOr<std::optional<PeakMemory>> FindPeak();

 private:
  StateMap OwnState() const;
  absl::Status CheckGiven(int64_t parameter) const;
  absl::Status SetParameter(int64_t number, Tensor tensor);
  absl::StatusOr<Tensor> ReadArray(ShardAt::Kind kind, int64_t index,
                                   bool check_copies) const;

  const Module& module_;
  const Job& job_;
  const std::unique_ptr<JobSite> site_;
  StateSaver saver_;
  const ModuleRoles roles_;
  // By parameter.
  std::vector<bool> is_given_;
  std::vector<bool> is_fed_;
  Simulation execution_;
  int64_t worker_bytes_ = 0;  // That programs take on a device of a worker.
};

// Ranks that ran on several workers take as long as on the slowest.
Simulation ExecutionOf(const Job& job, const StepReport& report);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_JOB_RUNNER_H_
