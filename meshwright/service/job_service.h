// What a coordinator does for its clients. service/ carries it over gRPC: the
// coordinator implements it, job_server.h answers calls with it, and
// job_client.h is the same at the other end.
//
//   MW_ASSIGN_OR_RETURN(std::string plan,
//                       jobs.Plan({module, "cpu:8", "{}"}, call));
//   MW_ASSIGN_OR_RETURN(int64_t job, jobs.Load(module, plan, call));
//   MW_RETURN_IF_ERROR(jobs.Init(job, {.from = InitFrom::kSeed}, none, call));
//   MW_RETURN_IF_ERROR(jobs.Step(job, 10, none, on_step, call));
#ifndef MESHWRIGHT_SERVICE_JOB_SERVICE_H_
#define MESHWRIGHT_SERVICE_JOB_SERVICE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/checkpoint/save_options.h"
#include "meshwright/state/tensor.h"

namespace meshwright {

// A call under way. Thread-safe.
class JobCall {
 public:
  virtual ~JobCall() = default;
  // Whether nobody waits for the answer any more. Long work looks now and then.
  virtual bool cancelled() const { return false; }
};

// Tensors as they come; nullopt after the last.
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  virtual absl::StatusOr<std::optional<Tensor>> Next() {
    return std::optional<Tensor>();
  }
};

struct PlanInput {
  std::string module;   // HloModuleProto or HLO text; plain or compressed.
  std::string cluster;  // A cluster file's text, or "cpu:8".
  std::string options;  // JSON, named as the flags of `meshwright plan`.
};

// Where the state of a job comes from.
struct InitFrom {
  enum Kind {
    kTensors,  // Those given, by parameter name.
    kSeed,     // Synthetic values.
    kModule,   // What `module` computes of the tensors given.
  };
  Kind from = kTensors;
  uint64_t seed = 0;
  std::string module = "";
};

struct JobStep {
  int64_t step = 0;
  double seconds = 0;
  std::optional<double> loss = std::nullopt;
  // Of the dataset that feeds it, after this step.
  std::optional<int64_t> position = std::nullopt;

  bool operator==(const JobStep&) const = default;
};

// Thread-safe. Sinks may fail, which ends the call with their error.
class JobService {
 public:
  using StepSink = std::function<absl::Status(const JobStep&)>;
  using TensorSink = std::function<absl::Status(Tensor)>;
  using LineSink = std::function<absl::Status(const std::string&)>;

  virtual ~JobService() = default;

  // The plan, as JSON.
  virtual absl::StatusOr<std::string> Plan(PlanInput input, JobCall& call) = 0;
  // The job's number, above 0.
  virtual absl::StatusOr<int64_t> Load(std::string module, std::string plan,
                                       JobCall& call) = 0;
  virtual absl::Status Init(int64_t job, InitFrom from, TensorSource& tensors,
                            JobCall& call) = 0;
  // As Runner::Feed (runtime/runner.h); workers read it.
  virtual absl::Status Feed(int64_t job, std::string dataset, int64_t position,
                            JobCall& call) = 0;
  // Sets `data`, then runs `count` steps and calls `done` after each.
  virtual absl::Status Step(int64_t job, int64_t count, TensorSource& data,
                            const StepSink& done, JobCall& call) = 0;
  // No names: all state.
  virtual absl::Status Fetch(int64_t job, std::vector<std::string> names,
                             const TensorSink& sink, JobCall& call) = 0;
  // As Runner's (runtime/runner.h). Folders are the coordinator's.
  virtual absl::Status Save(int64_t job, SaveOptions options,
                            JobCall& call) = 0;
  virtual absl::Status AwaitSaved(int64_t job, JobCall& call) = 0;
  virtual absl::StatusOr<RestoredState> Restore(int64_t job,
                                                std::string directory,
                                                JobCall& call) = 0;
  // The coordinator, its workers and jobs, as JSON.
  virtual absl::StatusOr<std::string> Describe(JobCall& call) = 0;
  // Metrics of a job, or of all (0), a line of JSON each, until it is stopped
  // or the call is cancelled.
  virtual absl::Status Watch(int64_t job, const LineSink& sink,
                             JobCall& call) = 0;
  virtual absl::Status Stop(int64_t job) = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_JOB_SERVICE_H_
