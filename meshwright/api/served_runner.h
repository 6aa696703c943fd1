// A step that a coordinator runs for this process, as a Runner.
//
//   MW_ASSIGN_OR_RETURN(auto jobs, ConnectJobs({.address = "host-0:7777"}));
//   MW_ASSIGN_OR_RETURN(auto runner,
//                       ServedRunner::Load(jobs.get(), call, module,
//                                          {.module = bytes, .plan = plan}));
//   runner->FillSynthetic(0);
//   runner->Steps(10);
#ifndef MESHWRIGHT_API_SERVED_RUNNER_H_
#define MESHWRIGHT_API_SERVED_RUNNER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/hlo/module.h"
#include "meshwright/runtime/runner.h"
#include "meshwright/service/job_service.h"

namespace meshwright {

class ServedRunner : public Runner {
 public:
  struct Texts {
    std::string module;
    std::string plan;
  };
  // `module` is the parsed `texts.module`. What is pointed to must outlive the
  // runner; cancelling `call` ends what is in progress.
  static absl::StatusOr<std::unique_ptr<ServedRunner>> Load(
      JobService* jobs, JobCall* call, const Module& module, Texts texts);
  ~ServedRunner() override;  // Stops the job.

  int64_t job() const { return job_; }

  const ModuleRoles& roles() const override { return roles_; }
  absl::Status FillSynthetic(uint64_t seed) override;
  absl::Status Set(std::vector<Tensor> tensors) override;
  absl::Status Init(const Module& init, std::vector<Tensor> arguments,
                    uint64_t seed) override;
  absl::Status Feed(const std::string& dataset, int64_t position) override;
  std::optional<int64_t> position() const override { return position_; }
  absl::Status Stage(int64_t batch, LentTensor tensor) override;
  absl::Status TakeStaged(int64_t batch) override;
  absl::StatusOr<StepResult> Step() override;
  absl::StatusOr<std::vector<StepResult>> Steps(int64_t count) override;
  absl::StatusOr<std::vector<Tensor>> ReadState() const override;
  absl::StatusOr<std::vector<Tensor>> ReadOutputs() const override;
  absl::StatusOr<Tensor> Read(const std::string& name) const override;
  // Folders are on the coordinator's machine; relative ones start at this
  // process's working directory.
  absl::Status Save(const SaveOptions& options) override;
  absl::Status AwaitSaved() override;
  absl::StatusOr<RestoredState> Restore(const std::string& directory) override;

 private:
  ServedRunner(JobService* jobs, JobCall* call, ModuleRoles roles, int64_t job)
      : jobs_(*jobs), call_(*call), roles_(std::move(roles)), job_(job) {}

  absl::StatusOr<std::vector<Tensor>> Fetch(
      const std::vector<std::string>& names) const;

  JobService& jobs_;
  JobCall& call_;
  const ModuleRoles roles_;
  const int64_t job_;
  std::optional<int64_t> position_;
  int64_t staged_ = 0;  // What the next steps take.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_API_SERVED_RUNNER_H_
