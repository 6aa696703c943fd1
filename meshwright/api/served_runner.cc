#include "meshwright/api/served_runner.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/hlo/write_module.h"

namespace meshwright {
namespace {

class GivenTensors : public TensorSource {
 public:
  explicit GivenTensors(std::vector<Tensor> tensors, int64_t staged = 0)
      : tensors_(std::move(tensors)), staged_(staged) {}
  int64_t staged() const override { return staged_; }
  absl::StatusOr<std::optional<LentTensor>> Next() override {
    if (next_ == tensors_.size()) return std::optional<LentTensor>();
    return LentTensor{.tensor = std::move(tensors_[next_++])};
  }

 private:
  std::vector<Tensor> tensors_;
  const int64_t staged_;
  size_t next_ = 0;
};

std::string Absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.string();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ServedRunner>> ServedRunner::Load(
    JobService* jobs, JobCall* call, const Module& module, Texts texts) {
  MW_ASSIGN_OR_RETURN(
      const int64_t job,
      jobs->Load(std::move(texts.module), std::move(texts.plan), *call));
  return std::unique_ptr<ServedRunner>(
      new ServedRunner(jobs, call, AnalyzeRoles(module), job));
}

ServedRunner::~ServedRunner() {
  // A coordinator that is gone has no job either.
  jobs_.Stop(job_).IgnoreError();
}

absl::Status ServedRunner::FillSynthetic(uint64_t seed) {
  TensorSource none;
  return jobs_.Init(job_, {.from = InitFrom::kSeed, .seed = seed}, none, call_);
}

absl::Status ServedRunner::Set(std::vector<Tensor> tensors) {
  GivenTensors given(std::move(tensors));
  return jobs_.Init(job_, {.from = InitFrom::kTensors}, given, call_);
}

absl::Status ServedRunner::Init(const Module& init,
                                std::vector<Tensor> arguments, uint64_t seed) {
  MW_ASSIGN_OR_RETURN(std::string bytes, WriteModule(init));
  GivenTensors given(std::move(arguments));
  return jobs_.Init(
      job_,
      {.from = InitFrom::kModule, .seed = seed, .module = std::move(bytes)},
      given, call_);
}

absl::Status ServedRunner::Feed(const std::string& dataset, int64_t position) {
  position_ = std::nullopt;
  MW_RETURN_IF_ERROR(jobs_.Feed(job_, dataset, position, call_));
  if (!dataset.empty()) position_ = position;
  return absl::OkStatus();
}

absl::Status ServedRunner::Stage(int64_t batch, LentTensor tensor) {
  GivenTensors given({Owned(std::move(tensor))});
  return jobs_.Stage(job_, batch, given, call_);
}

absl::Status ServedRunner::TakeStaged(int64_t batch) {
  staged_ = batch;  // Its absence is the error of the steps.
  return absl::OkStatus();
}

absl::StatusOr<std::vector<StepResult>> ServedRunner::Steps(int64_t count) {
  std::vector<StepResult> results;
  GivenTensors none({}, std::exchange(staged_, 0));
  MW_RETURN_IF_ERROR(jobs_.Step(
      job_, count, none,
      [&](const JobStep& step) {
        results.push_back({.seconds = step.seconds, .loss = step.loss});
        if (step.position.has_value()) position_ = step.position;
        return absl::OkStatus();
      },
      call_));
  return results;
}

absl::StatusOr<StepResult> ServedRunner::Step() {
  MW_ASSIGN_OR_RETURN(const std::vector<StepResult> results, Steps(1));
  if (results.empty()) return absl::InternalError("no step was run");
  return results[0];
}

absl::StatusOr<std::vector<Tensor>> ServedRunner::Fetch(
    const std::vector<std::string>& names) const {
  std::vector<Tensor> tensors;
  MW_RETURN_IF_ERROR(jobs_.Fetch(
      job_, {names.begin(), names.end()},
      [&](Tensor tensor) {
        tensors.push_back(std::move(tensor));
        return absl::OkStatus();
      },
      call_));
  return tensors;
}

absl::StatusOr<std::vector<Tensor>> ServedRunner::ReadState() const {
  if (roles_.state_pairs.empty()) return std::vector<Tensor>();
  return Fetch({});
}

absl::StatusOr<std::vector<Tensor>> ServedRunner::ReadOutputs() const {
  std::vector<std::string> names;
  for (const OutputInfo& one : roles_.outputs) names.push_back(one.name);
  if (names.empty()) return std::vector<Tensor>();
  return Fetch(names);
}

absl::StatusOr<Tensor> ServedRunner::Read(const std::string& name) const {
  MW_ASSIGN_OR_RETURN(std::vector<Tensor> tensors, Fetch({name}));
  if (tensors.empty()) return absl::InternalError("nothing came");
  return std::move(tensors[0]);
}

absl::Status ServedRunner::Save(const SaveOptions& options) {
  SaveOptions there = options;
  there.directory = Absolute(options.directory);
  return jobs_.Save(job_, std::move(there), call_);
}

absl::Status ServedRunner::AwaitSaved() {
  return jobs_.AwaitSaved(job_, call_);
}

absl::StatusOr<RestoredState> ServedRunner::Restore(
    const std::string& directory) {
  return jobs_.Restore(job_, Absolute(directory), call_);
}

}  // namespace meshwright
