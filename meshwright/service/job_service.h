// What a coordinator does for its clients. service/ carries it over gRPC: the
// coordinator implements this interface, job_server.h answers calls with it,
// and job_client.h implements it at the client.
//
//   MW_ASSIGN_OR_RETURN(std::string plan,
//                       jobs.Plan({module, "cpu:8", "{}"}, call));
//   MW_ASSIGN_OR_RETURN(int64_t job, jobs.Load(module, plan, call));
//   MW_RETURN_IF_ERROR(jobs.Init(job, {.from = InitFrom::kSeed}, none, call));
//   MW_RETURN_IF_ERROR(jobs.Step(job, 10, none, on_step, call));
#ifndef MESHWRIGHT_SERVICE_JOB_SERVICE_H_
#define MESHWRIGHT_SERVICE_JOB_SERVICE_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/checkpoint/save_options.h"
#include "meshwright/state/lent_tensor.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

// A call in progress. Thread-safe.
class JobCall {
 public:
  virtual ~JobCall() = default;
  // Whether the client no longer waits for the answer. Long-running work polls
  // this.
  virtual bool cancelled() const { return false; }
};

// Tensors as they arrive; nullopt after the last.
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  // For steps: the number of what was staged for them before; 0: nothing.
  virtual int64_t staged() const { return 0; }
  virtual absl::StatusOr<std::optional<LentTensor>> Next() {
    return std::optional<LentTensor>();
  }
};

// A tensor that is to be fetched.
struct Wanted {
  // Implicit: most are wanted as tensors that have data.
  template <typename Text>
  requires std::convertible_to<Text, std::string> Wanted(Text&& text)
      : name(std::forward<Text>(text)) {}  // NOLINT
  Wanted(std::string text, absl::Span<std::byte> bytes,
         std::shared_ptr<const void> holder)
      : name(std::move(text)), into(bytes), owner(std::move(holder)) {}

  std::string name;
  // Where its bytes go, if there is an owner, which keeps the place; the tensor
  // that comes then has no data.
  absl::Span<std::byte> into = {};
  std::shared_ptr<const void> owner = nullptr;
};

struct PlanInput {
  std::string module;   // HloModuleProto or HLO text, possibly compressed.
  std::string cluster;  // The text of a cluster file, or "cpu:8".
  std::string options;  // JSON with the names of `meshwright plan`'s flags.
};

// The source of the initial state of a job.
struct InitFrom {
  enum Kind {
    kTensors,  // The given tensors, by parameter name.
    kSeed,     // Synthetic values.
    kModule,   // The results of `module`, called with the given tensors.
  };
  Kind from = kTensors;
  uint64_t seed = 0;
  std::string module = "";
};

// Arrays that pass from one job to another.
struct StateMoves {
  struct Move {
    std::string taken;  // State of the one.
    std::string given;  // A parameter of the other.
  };
  std::vector<Move> moves;
  // Whether the one needs its values no more.
  bool drop = false;
};

struct JobStep {
  int64_t step = 0;
  double seconds = 0;
  std::optional<double> loss = std::nullopt;
  // If a dataset feeds the job, its position after this step.
  std::optional<int64_t> position = std::nullopt;

  bool operator==(const JobStep&) const = default;
};

// Puts the tensor's data where they are wanted, if that is somewhere.
// kInvalidArgument when they are not of that size.
absl::Status MoveInto(const Wanted& wanted, Tensor& tensor);

// Thread-safe. If a sink returns an error, the call ends with it.
class JobService {
 public:
  using StepSink = std::function<absl::Status(const JobStep&)>;
  using TensorSink = std::function<absl::Status(Tensor)>;
  using LineSink = std::function<absl::Status(const std::string&)>;

  virtual ~JobService() = default;

  // The plan, as JSON.
  virtual absl::StatusOr<std::string> Plan(PlanInput input, JobCall& call) = 0;
  // The job's number, at least 1. There must be no other job.
  absl::StatusOr<int64_t> Load(std::string module, std::string plan,
                               JobCall& call) {
    return LoadBeside(0, std::move(module), std::move(plan), call);
  }
  // `beside`: a job that stays, on the same devices; calls of both exclude each
  // other. 0: there must be none.
  virtual absl::StatusOr<int64_t> LoadBeside(int64_t beside, std::string module,
                                             std::string plan,
                                             JobCall& call) = 0;
  virtual absl::Status Init(int64_t job, InitFrom from, TensorSource& tensors,
                            JobCall& call) = 0;
  // As Runner::Feed (runtime/runner.h); the workers read the dataset.
  virtual absl::Status Feed(int64_t job, std::string dataset, int64_t position,
                            JobCall& call) = 0;
  // Takes what was staged, sets `data`, then runs `count` steps and calls
  // `done` after each.
  virtual absl::Status Step(int64_t job, int64_t count, TensorSource& data,
                            const StepSink& done, JobCall& call) = 0;
  // The same, then what is wanted, if anything is.
  virtual absl::Status StepAndFetch(int64_t job, int64_t count,
                                    TensorSource& data, const StepSink& done,
                                    std::vector<Wanted> wanted,
                                    const TensorSink& sink, JobCall& call);
  // Transfers data of later steps, while others run (TensorSource::staged):
  // (job, number of the batch, data, call). Several can be staged; numbers
  // ascend.
  virtual absl::Status Stage(int64_t, int64_t, TensorSource&, JobCall&) {
    return absl::UnimplementedError("data go with their steps");
  }
  // Nothing wanted: all state.
  virtual absl::Status Fetch(int64_t job, std::vector<Wanted> wanted,
                             const TensorSink& sink, JobCall& call) = 0;
  // State of job `from` becomes parameters of job `to`, beside it.
  virtual absl::Status Move(int64_t from, int64_t to, StateMoves moves,
                            JobCall& call) = 0;
  // As in Runner (runtime/runner.h). Folders are on the coordinator's machine.
  virtual absl::Status Save(int64_t job, SaveOptions options,
                            JobCall& call) = 0;
  virtual absl::Status AwaitSaved(int64_t job, JobCall& call) = 0;
  virtual absl::StatusOr<RestoredState> Restore(int64_t job,
                                                std::string directory,
                                                JobCall& call) = 0;
  // The coordinator, its workers and jobs, as JSON.
  virtual absl::StatusOr<std::string> Describe(JobCall& call) = 0;
  // Metrics of a job, or of all (0), one line of JSON each, until the job is
  // stopped or the call is cancelled.
  virtual absl::Status Watch(int64_t job, const LineSink& sink,
                             JobCall& call) = 0;
  virtual absl::Status Stop(int64_t job) = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_JOB_SERVICE_H_
