// A JobService in memory: its jobs keep tensors and count steps.
#ifndef MESHWRIGHT_SERVICE_JOBS_FOR_TEST_H_
#define MESHWRIGHT_SERVICE_JOBS_FOR_TEST_H_

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/service/job_service.h"
#include "meshwright/service/tensors_for_test.h"

namespace meshwright {

class JobsForTest : public JobService {
 public:
  struct Job {
    std::string module;
    std::string plan;
    std::map<std::string, Tensor> tensors;
    int64_t steps = 0;
    std::string dataset;
    int64_t position = 0;
  };

  // A module beginning with "slow" takes until the call is cancelled; one
  // beginning with "bad" is refused.
  absl::StatusOr<std::string> Plan(PlanInput input, JobCall& call) override {
    if (absl::StartsWith(input.module, "bad")) {
      return absl::InvalidArgumentError(input.module);
    }
    while (absl::StartsWith(input.module, "slow") && !call.cancelled()) {
      absl::SleepFor(absl::Milliseconds(10));
    }
    if (call.cancelled()) {
      ++cancelled;
      return absl::CancelledError("cancelled");
    }
    return absl::StrCat("{\"plan\": \"", input.module, "|", input.cluster, "|",
                        input.options, "\"}");
  }

  absl::StatusOr<int64_t> LoadBeside(int64_t, std::string module,
                                     std::string plan, JobCall&) override {
    std::unique_lock lock(mutex_);
    if (jobs_.size() >= 100) jobs_.erase(jobs_.begin());
    jobs_[++last_] = {.module = std::move(module), .plan = std::move(plan)};
    return last_;
  }

  absl::Status Init(int64_t job, InitFrom from, TensorSource& tensors,
                    JobCall&) override {
    MW_RETURN_IF_ERROR(Set(job, tensors));
    if (from.from == InitFrom::kTensors) return absl::OkStatus();
    std::unique_lock lock(mutex_);
    MW_ASSIGN_OR_RETURN(Job * found, Find(job));
    const std::string data = from.from == InitFrom::kSeed
                                 ? std::string(1, static_cast<char>(from.seed))
                                 : from.module.substr(0, 1);
    found->tensors["made"] = {"made", ElementType::kU8, {1}, data};
    return absl::OkStatus();
  }

  absl::Status Feed(int64_t job, std::string dataset, int64_t position,
                    JobCall&) override {
    std::unique_lock lock(mutex_);
    MW_ASSIGN_OR_RETURN(Job * found, Find(job));
    found->dataset = std::move(dataset);
    found->position = position;
    return absl::OkStatus();
  }

  absl::Status Step(int64_t job, int64_t count, TensorSource& data,
                    const StepSink& done, JobCall& call) override {
    MW_RETURN_IF_ERROR(Set(job, data));
    for (int64_t i = 0; i < count; ++i) {
      if (call.cancelled()) {
        ++cancelled;
        return absl::CancelledError("cancelled");
      }
      JobStep step = {.seconds = 0.5};
      {
        std::unique_lock lock(mutex_);
        MW_ASSIGN_OR_RETURN(Job * found, Find(job));
        step.step = found->steps++;
        if (!found->dataset.empty()) step.position = ++found->position;
      }
      if (step.step % 2 == 0) step.loss = 1.0 / (1.0 + double(step.step));
      MW_RETURN_IF_ERROR(done(step));
    }
    return absl::OkStatus();
  }

  absl::Status Fetch(int64_t job, std::vector<Wanted> wanted,
                     const TensorSink& sink, JobCall&) override {
    std::vector<Tensor> tensors;
    std::unique_lock lock(mutex_);
    MW_ASSIGN_OR_RETURN(Job * found, Find(job));
    if (wanted.empty()) {
      for (const auto& one : found->tensors) wanted.push_back(one.first);
    }
    for (const Wanted& one : wanted) {
      const auto tensor = found->tensors.find(one.name);
      if (tensor == found->tensors.end()) {
        return absl::NotFoundError(absl::StrCat("no tensor ", one.name));
      }
      tensors.push_back(tensor->second);
      MW_RETURN_IF_ERROR(MoveInto(one, tensors.back()));
    }
    lock.unlock();
    for (Tensor& tensor : tensors) MW_RETURN_IF_ERROR(sink(std::move(tensor)));
    return absl::OkStatus();
  }

  absl::Status Move(int64_t, int64_t, StateMoves, JobCall&) override {
    return absl::UnimplementedError("tensors stay in their jobs");
  }

  // Keeps what it was asked for as the job's plan.
  absl::Status Save(int64_t job, SaveOptions options, JobCall&) override {
    std::unique_lock lock(mutex_);
    MW_ASSIGN_OR_RETURN(Job * found, Find(job));
    found->plan = absl::StrCat(options.directory, "|", options.step, "|",
                               options.keep_last, "|", options.extra, "|",
                               options.in_background);
    return absl::OkStatus();
  }

  absl::Status AwaitSaved(int64_t, JobCall&) override {
    return absl::ResourceExhaustedError("the disk is full");
  }

  absl::StatusOr<RestoredState> Restore(int64_t job, std::string directory,
                                        JobCall&) override {
    std::unique_lock lock(mutex_);
    MW_ASSIGN_OR_RETURN(Job * found, Find(job));
    return RestoredState{.folder = directory, .step = 7, .extra = found->plan};
  }

  absl::StatusOr<std::string> Describe(JobCall&) override {
    std::unique_lock lock(mutex_);
    return absl::StrCat("{\"jobs\": ", jobs_.size(), "}");
  }

  absl::Status Watch(int64_t job, const LineSink& sink,
                     JobCall& call) override {
    for (int64_t line = 0; !call.cancelled(); ++line) {
      {
        std::unique_lock lock(mutex_);
        if (job != 0 && !jobs_.contains(job)) return absl::OkStatus();
      }
      MW_RETURN_IF_ERROR(sink(absl::StrCat("{\"line\": ", line, "}")));
      absl::SleepFor(absl::Milliseconds(10));
    }
    ++cancelled;
    return absl::CancelledError("cancelled");
  }

  absl::Status Stop(int64_t job) override {
    std::unique_lock lock(mutex_);
    MW_RETURN_IF_ERROR(Find(job).status());
    jobs_.erase(job);
    return absl::OkStatus();
  }

  std::atomic<int> cancelled = 0;   // Calls that noticed it.
  std::atomic<int> lent_count = 0;  // Tensors that came in shared memory.

 private:
  absl::StatusOr<Job*> Find(int64_t job) {
    const auto found = jobs_.find(job);
    if (found != jobs_.end()) return &found->second;
    return absl::NotFoundError(absl::StrCat("there is no job ", job));
  }

  absl::Status Set(int64_t job, TensorSource& tensors) {
    while (true) {
      MW_ASSIGN_OR_RETURN(std::optional<LentTensor> lent, tensors.Next());
      if (lent.has_value() && lent->is_lent()) ++lent_count;
      std::unique_lock lock(mutex_);
      MW_ASSIGN_OR_RETURN(Job * found, Find(job));
      if (!lent.has_value()) return absl::OkStatus();
      found->tensors[lent->tensor.name] = Owned(*lent);
    }
  }

  std::mutex mutex_;  // Guards the rest.
  std::map<int64_t, Job> jobs_;
  int64_t last_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_JOBS_FOR_TEST_H_
