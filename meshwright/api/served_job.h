// A job that a coordinator runs for clients.
#ifndef MESHWRIGHT_API_SERVED_JOB_H_
#define MESHWRIGHT_API_SERVED_JOB_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "meshwright/api/job_lane.h"
#include "meshwright/api/planned_runner.h"
#include "meshwright/runtime/coordinator.h"
#include "meshwright/runtime/step_metrics.h"
#include "meshwright/service/job_service.h"

namespace meshwright {

// Thread-safe. Long operations run on a thread of their own, so that calls
// return when they are given up. Calls that change or read the job exclude each
// other.
class ServedJob {
 public:
  struct Options {
    int64_t number = 1;
    // A job that is loaded already, whose devices it shares; may be null.
    std::shared_ptr<ServedJob> beside;
    // Its workers run the job; must outlive it. Null: devices of this process
    // do.
    Coordinator* coordinator = nullptr;
    // Of programs for these devices; must outlive it. May be null.
    CompileCache* cache = nullptr;
    // Called after every step, on the job's thread.
    std::function<void(const StepFigures&)> on_step;
    // How long to wait for workers with enough devices.
    absl::Duration patience = absl::Seconds(30);
  };

  explicit ServedJob(Options options);
  // Ends it if End was not called. Waits for work in progress.
  ~ServedJob();

  int64_t number() const { return options_.number; }
  std::string ToString() const;  // "job 3 (gpt_tiny)"

  // Must be the first call. If it fails or is given up, the job must be ended.
  absl::Status Load(std::string module, std::string plan, const JobCall& call);
  absl::Status Init(const InitFrom& from, TensorSource& tensors,
                    const JobCall& call);
  absl::Status Feed(std::string dataset, int64_t position, const JobCall& call);
  // Then what is wanted, on the thread at once, if anything is.
  absl::Status Step(int64_t count, TensorSource& data,
                    const JobService::StepSink& done,
                    std::vector<Wanted> wanted,
                    const JobService::TensorSink& sink, const JobCall& call);
  // While steps of this job, or of others, run.
  absl::Status Stage(int64_t batch, TensorSource& data);
  absl::Status Fetch(std::vector<Wanted> wanted,
                     const JobService::TensorSink& sink, const JobCall& call);

  // State of a job beside it becomes parameters of this one (MoveState).
  absl::Status Take(std::shared_ptr<ServedJob> from, StateMoves moves,
                    const JobCall& call);

  // A failure leaves the job unchanged.
  absl::Status Save(SaveOptions options, const JobCall& call);
  absl::Status AwaitSaved(const JobCall& call);
  absl::StatusOr<RestoredState> Restore(std::string directory,
                                        const JobCall& call);

  // Ends what is in progress; no other call works afterwards. Returns at once.
  // Jobs beside it go on, unless it was at work on workers, whose connections
  // they share.
  void End();
  bool is_ended() const;
  // Whether it has ended, and nothing of it is left on workers.
  bool is_over() const;

  nlohmann::ordered_json Describe() const;

 private:
  struct Loaded;
  using Steps = std::vector<JobStep>;

  enum class State { kLoading, kReady, kRunning, kFailed, kEnding, kOver };

  // Called on the thread.
  absl::Status Prepare(const std::string& module, const std::string& plan);
  absl::Status Place();
  absl::StatusOr<Where> FindPlace();
  absl::Status RunSteps(Runner& runner, int64_t count, Steps& steps);
  void Note(int64_t number, const StepReport& report);

  // What is wanted from `from` on.
  absl::Status Send(std::vector<Wanted> wanted, size_t from,
                    const JobService::TensorSink& sink, const JobCall& call);
  absl::Status AwaitDevices(const JobCall& call) const;
  // Runs `work` on the thread. A failure that is not the caller's fault ends
  // the job.
  absl::Status Do(const JobCall& call,
                  std::function<absl::Status(Runner& runner)> work);
  // The same, but a failure does not end the job.
  absl::Status Try(const JobCall& call,
                   std::function<absl::Status(Runner& runner)> work);
  absl::Status CheckAlive() const;
  absl::Status IsAlive() const;  // Requires: the mutex is locked.
  // Called on the thread.
  absl::Status BeginWork();
  absl::Status Failed(const absl::Status& why);

  Options options_;
  const std::shared_ptr<JobLane> lane_;
  // Used by the thread, and for staging.
  std::unique_ptr<Loaded> loaded_;
  std::shared_mutex staging_;  // Exclusive: nothing is staged, loaded_ may go.
  Steps* steps_of_call_ = nullptr;

  mutable std::mutex mutex_;  // Guards the members below.
  State state_ = State::kLoading;
  absl::Status failure_;
  std::string module_name_;
  std::vector<std::string> state_names_;
  int64_t devices_ = 0;
  JobRunner* running_ = nullptr;
  bool is_at_work_ = false;
  double compile_seconds_ = 0;
  int64_t steps_ = 0;
  std::optional<StepFigures> last_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_API_SERVED_JOB_H_
