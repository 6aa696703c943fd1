// A job that a coordinator runs for clients.
#ifndef MESHWRIGHT_API_SERVED_JOB_H_
#define MESHWRIGHT_API_SERVED_JOB_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "meshwright/api/call_thread.h"
#include "meshwright/api/planned_runner.h"
#include "meshwright/runtime/coordinator.h"
#include "meshwright/runtime/step_metrics.h"
#include "meshwright/service/job_service.h"

namespace meshwright {

// Thread-safe. What takes long is done on a thread of its own, so that calls
// return when they are given up. Calls that change or read the job take turns.
class ServedJob {
 public:
  struct Options {
    int64_t number = 1;
    // Whose workers run it; outlives it. Null: devices of this process do.
    Coordinator* coordinator = nullptr;
    // Called after every step, on the job's thread.
    std::function<void(const StepFigures&)> on_step;
    // How long to wait for workers with enough devices.
    absl::Duration patience = absl::Seconds(30);
  };

  explicit ServedJob(Options options);
  // Ends it, if End was not called. Waits for what is under way.
  ~ServedJob();

  int64_t number() const { return options_.number; }
  std::string ToString() const;  // "job 3 (gpt_tiny)"

  // Once, before all others. When it fails or is given up, the job is to be
  // ended.
  absl::Status Load(std::string module, std::string plan, const JobCall& call);
  absl::Status Init(const InitFrom& from, TensorSource& tensors,
                    const JobCall& call);
  absl::Status Feed(std::string dataset, int64_t position, const JobCall& call);
  absl::Status Step(int64_t count, TensorSource& data,
                    const JobService::StepSink& done, const JobCall& call);
  absl::Status Fetch(std::vector<std::string> names,
                     const JobService::TensorSink& sink, const JobCall& call);

  // What fails leaves the job as it is.
  absl::Status Save(SaveOptions options, const JobCall& call);
  absl::Status AwaitSaved(const JobCall& call);
  absl::StatusOr<RestoredState> Restore(std::string directory,
                                        const JobCall& call);

  // Ends what is under way; from then on nothing else works. Returns at once.
  void End();
  bool is_ended() const;
  // It is ended, and nothing of it is left on workers.
  bool is_over() const;

  nlohmann::ordered_json Describe() const;

 private:
  struct Loaded;
  using Steps = std::vector<JobStep>;

  enum class State { kLoading, kReady, kRunning, kFailed, kEnding, kOver };

  // On the thread.
  absl::Status Prepare(const std::string& module, const std::string& plan);
  absl::Status Place();
  absl::StatusOr<Where> FindPlace();
  absl::Status RunSteps(Runner& runner, int64_t count, Steps& steps);
  void Note(int64_t number, const StepReport& report);

  absl::Status AwaitDevices(const JobCall& call) const;
  // Does `work` on the thread. What fails beyond the caller's fault is the end
  // of the job.
  absl::Status Do(const JobCall& call,
                  std::function<absl::Status(Runner& runner)> work);
  // The same, of what is not.
  absl::Status Try(const JobCall& call,
                   std::function<absl::Status(Runner& runner)> work);
  absl::Status CheckAlive() const;
  absl::Status Failed(const absl::Status& why);

  const Options options_;
  CallTurns turns_;
  // Only the thread's.
  std::unique_ptr<Loaded> loaded_;
  Steps* steps_of_call_ = nullptr;

  mutable std::mutex mutex_;  // Guards the rest.
  State state_ = State::kLoading;
  absl::Status failure_;
  std::string module_name_;
  std::vector<std::string> state_names_;
  int64_t devices_ = 0;
  JobRunner* running_ = nullptr;
  double compile_seconds_ = 0;
  int64_t steps_ = 0;
  std::optional<StepFigures> last_;

  CallThread thread_;  // Last: ends first.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_API_SERVED_JOB_H_
