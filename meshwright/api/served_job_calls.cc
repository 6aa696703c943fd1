// What clients do with a job once it is loaded.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/api/load_step.h"
#include "meshwright/api/served_job.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

// Steps that are sent to workers together take about as long: a client that
// leaves is noticed between them.
constexpr double kSecondsTogether = 0.1;
constexpr int64_t kMaxTogether = 64;

// Of those that are read at once, so much is held.
constexpr size_t kReadBytes = size_t{8} << 20;

struct ReadTensors {
  // The first of those that are wanted, until that is much.
  absl::Status Add(const Runner& runner, const std::vector<Wanted>& wanted) {
    size_t bytes = 0;
    for (const Wanted& one : wanted) {
      if (bytes >= kReadBytes) break;
      MW_ASSIGN_OR_RETURN(tensors.emplace_back(),
                          one.owner == nullptr
                              ? runner.Read(one.name)
                              : runner.ReadInto(one.name, one.into));
      bytes += tensors.back().data.size();
    }
    return absl::OkStatus();
  }

  std::vector<Tensor> tensors;
};

// Leaves none.
absl::Status SetAll(Runner& runner, std::vector<LentTensor>& tensors) {
  for (LentTensor& tensor : std::exchange(tensors, {})) {
    MW_RETURN_IF_ERROR(runner.SetLent(std::move(tensor)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ServedJob::Init(const InitFrom& from, TensorSource& tensors,
                             const JobCall& call) {
  MW_RETURN_IF_ERROR(CheckAlive());
  MW_ASSIGN_OR_RETURN(const CallTurns::Turn turn, lane_->turns.Take(call));
  if (from.from == InitFrom::kModule) {
    const auto arguments = std::make_shared<std::vector<Tensor>>();
    while (true) {
      MW_ASSIGN_OR_RETURN(std::optional<LentTensor> tensor, tensors.Next());
      if (!tensor.has_value()) break;
      arguments->push_back(Owned(*std::move(tensor)));
    }
    return Do(call,
              [arguments, bytes = from.module,
               seed = from.seed](Runner& runner) -> absl::Status {
                MW_ASSIGN_OR_RETURN(Module module,
                                    ParseModule(bytes, "the init module"));
                MW_ASSIGN_OR_RETURN(module, PrepareStep(std::move(module),
                                                        "the init module", {}));
                return runner.Init(module, std::move(*arguments), seed);
              });
  }
  if (from.from == InitFrom::kSeed) {
    MW_RETURN_IF_ERROR(Do(call, [seed = from.seed](Runner& runner) {
      return runner.FillSynthetic(seed);
    }));
  }
  while (true) {
    MW_ASSIGN_OR_RETURN(std::optional<LentTensor> tensor, tensors.Next());
    if (!tensor.has_value()) return absl::OkStatus();
    // Functions are copied; tensors should not be.
    const auto given = std::make_shared<LentTensor>(*std::move(tensor));
    MW_RETURN_IF_ERROR(Do(call, [given](Runner& runner) {
      return runner.SetLent(std::move(*given));
    }));
  }
}

absl::Status ServedJob::Feed(std::string dataset, int64_t position,
                             const JobCall& call) {
  MW_RETURN_IF_ERROR(CheckAlive());
  MW_ASSIGN_OR_RETURN(const CallTurns::Turn turn, lane_->turns.Take(call));
  return Do(call, [dataset = std::move(dataset), position](Runner& runner) {
    return runner.Feed(dataset, position);
  });
}

absl::Status ServedJob::Step(int64_t count, TensorSource& data,
                             const JobService::StepSink& done,
                             std::vector<Wanted> wanted,
                             const JobService::TensorSink& sink,
                             const JobCall& call) {
  MW_RETURN_IF_ERROR(CheckAlive());
  if (count < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(count, " steps cannot be run"));
  }
  MW_ASSIGN_OR_RETURN(const CallTurns::Turn turn, lane_->turns.Take(call));
  const auto given = std::make_shared<std::vector<LentTensor>>();
  while (true) {
    MW_ASSIGN_OR_RETURN(std::optional<LentTensor> tensor, data.Next());
    if (!tensor.has_value()) break;
    given->push_back(*std::move(tensor));
  }
  const auto read = std::make_shared<ReadTensors>();
  const auto staged = std::make_shared<int64_t>(data.staged());
  double seconds = kSecondsTogether;  // Of a step; at first it is not known.
  do {
    const int64_t together =
        count == 0
            ? 0
            : std::clamp<int64_t>(static_cast<int64_t>(kSecondsTogether /
                                                       std::max(seconds, 1e-6)),
                                  1, std::min(count, kMaxTogether));
    const auto steps = std::make_shared<Steps>();
    const bool is_last = together == count;
    const absl::Status status =
        Do(call,
           [this, given, staged, together, steps, read,
            wanted = is_last ? wanted : std::vector<Wanted>()](
               Runner& runner) -> absl::Status {
             // Before the first of them.
             if (const int64_t batch = std::exchange(*staged, 0); batch != 0) {
               MW_RETURN_IF_ERROR(runner.TakeStaged(batch));
             }
             MW_RETURN_IF_ERROR(SetAll(runner, *given));
             if (together > 0) {
               MW_RETURN_IF_ERROR(RunSteps(runner, together, *steps));
             }
             return read->Add(runner, wanted);
           });
    // What was given up may still write there.
    if (absl::IsCancelled(status)) return status;
    for (const JobStep& step : *steps) {
      seconds = step.seconds;
      MW_RETURN_IF_ERROR(done(step));
    }
    MW_RETURN_IF_ERROR(status);
    count -= together;
  } while (count > 0);
  for (Tensor& tensor : read->tensors) {
    MW_RETURN_IF_ERROR(sink(std::move(tensor)));
  }
  return Send(std::move(wanted), read->tensors.size(), sink, call);
}

absl::Status ServedJob::RunSteps(Runner& runner, int64_t count, Steps& steps) {
  const auto become = [this](State from, State to) {
    const std::lock_guard lock(mutex_);
    if (state_ == from) state_ = to;
  };
  become(State::kReady, State::kRunning);
  steps_of_call_ = &steps;
  const absl::Status status = runner.Steps(count).status();
  steps_of_call_ = nullptr;
  become(State::kRunning, State::kReady);
  return status;
}

absl::Status ServedJob::Fetch(std::vector<Wanted> wanted,
                              const JobService::TensorSink& sink,
                              const JobCall& call) {
  MW_RETURN_IF_ERROR(CheckAlive());
  MW_ASSIGN_OR_RETURN(const CallTurns::Turn turn, lane_->turns.Take(call));
  if (wanted.empty()) {
    const std::lock_guard lock(mutex_);
    wanted.assign(state_names_.begin(), state_names_.end());
  }
  return Send(std::move(wanted), 0, sink, call);
}

absl::Status ServedJob::Send(std::vector<Wanted> wanted, size_t from,
                             const JobService::TensorSink& sink,
                             const JobCall& call) {
  wanted.erase(wanted.begin(), wanted.begin() + static_cast<int64_t>(from));
  while (!wanted.empty()) {
    const auto read = std::make_shared<ReadTensors>();
    MW_RETURN_IF_ERROR(Do(call, [read, wanted](Runner& runner) {
      return read->Add(runner, wanted);
    }));
    wanted.erase(wanted.begin(), wanted.begin() + std::ssize(read->tensors));
    for (Tensor& tensor : read->tensors) {
      MW_RETURN_IF_ERROR(sink(std::move(tensor)));
    }
  }
  return absl::OkStatus();
}

absl::Status ServedJob::Try(const JobCall& call,
                            std::function<absl::Status(Runner& runner)> work) {
  MW_RETURN_IF_ERROR(CheckAlive());
  MW_ASSIGN_OR_RETURN(const CallTurns::Turn turn, lane_->turns.Take(call));
  const auto status = std::make_shared<absl::Status>();
  MW_RETURN_IF_ERROR(Do(call, [status, work = std::move(work)](Runner& runner) {
    *status = work(runner);
    return absl::OkStatus();
  }));
  return *status;
}

absl::Status ServedJob::Save(SaveOptions options, const JobCall& call) {
  return Try(call, [options = std::move(options)](Runner& runner) {
    return runner.Save(options);
  });
}

absl::Status ServedJob::AwaitSaved(const JobCall& call) {
  return Try(call, [](Runner& runner) { return runner.AwaitSaved(); });
}

absl::StatusOr<RestoredState> ServedJob::Restore(std::string directory,
                                                 const JobCall& call) {
  const auto restored = std::make_shared<RestoredState>();
  MW_RETURN_IF_ERROR(
      Try(call, [directory, restored](Runner& runner) -> absl::Status {
        MW_ASSIGN_OR_RETURN(*restored, runner.Restore(directory));
        return absl::OkStatus();
      }));
  return std::move(*restored);
}

}  // namespace meshwright
