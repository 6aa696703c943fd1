// Presents a pipeline as the step that it was made of: arrays that it holds as
// parts on different stages (loops/split_loops.h) are set and read whole.
#ifndef MESHWRIGHT_RUNTIME_PIPELINE_RUNNER_H_
#define MESHWRIGHT_RUNTIME_PIPELINE_RUNNER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/loops/split_loops.h"
#include "meshwright/runtime/job_runner.h"

namespace meshwright {

class PipelineRunner : public Runner {
 public:
  // `pipeline` runs `split` of `module`, or the module itself if null. What is
  // pointed to must outlive the runner.
  PipelineRunner(const Module* module, const SplitStep* split,
                 std::unique_ptr<JobRunner> pipeline);

  JobRunner* AsJob() override {
    return split_ == nullptr ? pipeline_.get() : nullptr;
  }
  const ModuleRoles& roles() const override { return roles_; }
  absl::Status FillSynthetic(uint64_t seed) override;
  absl::Status Set(std::vector<Tensor> tensors) override;
  absl::Status SetLent(LentTensor tensor) override {
    return split_ == nullptr ? pipeline_->SetLent(std::move(tensor))
                             : Runner::SetLent(std::move(tensor));
  }
  absl::Status Stage(int64_t batch, LentTensor tensor) override;
  absl::Status TakeStaged(int64_t batch) override {
    return pipeline_->TakeStaged(batch);
  }
  absl::Status Init(const Module& init, std::vector<Tensor> arguments,
                    uint64_t seed) override;
  absl::Status Feed(const std::string& dataset, int64_t position) override;
  std::optional<int64_t> position() const override {
    return pipeline_->position();
  }
  absl::StatusOr<StepResult> Step() override { return pipeline_->Step(); }
  absl::StatusOr<std::vector<StepResult>> Steps(int64_t count) override {
    return pipeline_->Steps(count);
  }
  absl::StatusOr<std::vector<Tensor>> ReadState() const override;
  absl::StatusOr<std::vector<Tensor>> ReadOutputs() const override;
  absl::StatusOr<Tensor> Read(const std::string& name) const override;
  absl::StatusOr<Tensor> ReadInto(const std::string& name,
                                  absl::Span<std::byte> bytes) const override {
    return split_ == nullptr ? pipeline_->ReadInto(name, bytes)
                             : Runner::ReadInto(name, bytes);
  }

  absl::Status Save(const SaveOptions& options) override;
  absl::Status AwaitSaved() override { return pipeline_->AwaitSaved(); }
  absl::StatusOr<RestoredState> Restore(const std::string& directory) override;

  JobRunner& pipeline() const { return *pipeline_; }

 private:
  // Of the step, in the pipeline's parts. Requires: it was split.
  StateMap SplitState() const;
  // What the pipeline has of a parameter.
  absl::StatusOr<std::vector<Tensor>> PartsOf(int64_t number,
                                              Tensor tensor) const;
  absl::Status SetParameter(int64_t number, Tensor tensor);

  const Module& module_;
  const SplitStep* const split_;
  const ModuleRoles roles_;
  const std::unique_ptr<JobRunner> pipeline_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_PIPELINE_RUNNER_H_
