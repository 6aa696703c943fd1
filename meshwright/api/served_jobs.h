// A coordinator's service for clients: plans, and runs one job at a time on the
// workers that have joined, or several of one client beside each other.
//
//   ServedJobs jobs({.coordinator = &coordinator, .cluster = cluster});
//   WorkerServer::Start({..., .jobs = &jobs});
//
// If a worker is lost, its job fails: every call of the job says so until it is
// stopped. Then it can be loaded again on the remaining workers.
#ifndef MESHWRIGHT_API_SERVED_JOBS_H_
#define MESHWRIGHT_API_SERVED_JOBS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "meshwright/api/call_thread.h"
#include "meshwright/api/line_watchers.h"
#include "meshwright/api/served_job.h"
#include "meshwright/base/steady_time.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/runtime/compile_cache.h"
#include "meshwright/runtime/coordinator.h"
#include "meshwright/runtime/metrics_text.h"
#include "meshwright/service/job_service.h"

namespace meshwright {

class ServedJobs : public JobService {
 public:
  struct Options {
    // Must outlive this. Null: jobs run on the devices of this process.
    Coordinator* coordinator = nullptr;
    // A folder of programs compiled for these devices; empty: none.
    std::string cache;
    // The cluster to plan for if a client names none.
    std::optional<Cluster> cluster;
    // How many workers must have joined before the first job is loaded; 0:
    // enough for its devices.
    int workers = 0;
    // How long loading waits for workers.
    absl::Duration patience = absl::Seconds(60);
    double max_plan_seconds = 600;
    // Called with every line of metrics, on the thread of the job.
    std::function<void(const std::string& line)> on_line;
  };

  explicit ServedJobs(Options options);
  ~ServedJobs() override;  // Waits for work in progress, after Shutdown.
  // Whether the destructor would wait for long: planning cannot be interrupted.
  bool is_planning() { return planning_.is_busy(); }

  // Jobs that are beside each other.
  static constexpr size_t kMaxJobs = 64;

  // Whether there is a job, of which something is left.
  bool has_job() const;

  // Ends the job and all calls; later calls return kUnavailable. Returns at
  // once.
  void Shutdown();
  // In Prometheus' format.
  std::string MetricsText() const;

  absl::StatusOr<std::string> Plan(PlanInput input, JobCall& call) override;
  // kFailedPrecondition, naming it, while there is a job that it is not to be
  // beside of.
  absl::StatusOr<int64_t> LoadBeside(int64_t beside, std::string module,
                                     std::string plan, JobCall& call) override;
  absl::Status Init(int64_t job, InitFrom from, TensorSource& tensors,
                    JobCall& call) override;
  absl::Status Feed(int64_t job, std::string dataset, int64_t position,
                    JobCall& call) override;
  absl::Status Step(int64_t job, int64_t count, TensorSource& data,
                    const StepSink& done, JobCall& call) override;
  absl::Status StepAndFetch(int64_t job, int64_t count, TensorSource& data,
                            const StepSink& done, std::vector<Wanted> wanted,
                            const TensorSink& sink, JobCall& call) override;
  absl::Status Stage(int64_t job, int64_t batch, TensorSource& data,
                     JobCall& call) override;
  absl::Status Fetch(int64_t job, std::vector<Wanted> wanted,
                     const TensorSink& sink, JobCall& call) override;
  absl::Status Move(int64_t from, int64_t to, StateMoves moves,
                    JobCall& call) override;
  absl::Status Save(int64_t job, SaveOptions options, JobCall& call) override;
  absl::Status AwaitSaved(int64_t job, JobCall& call) override;
  absl::StatusOr<RestoredState> Restore(int64_t job, std::string directory,
                                        JobCall& call) override;
  absl::StatusOr<std::string> Describe(JobCall& call) override;
  absl::Status Watch(int64_t job, const LineSink& sink, JobCall& call) override;
  absl::Status Stop(int64_t job) override;

 private:
  using Jobs = std::map<int64_t, std::shared_ptr<ServedJob>>;

  absl::StatusOr<std::shared_ptr<ServedJob>> Begin(const JobCall& call);
  absl::StatusOr<std::shared_ptr<ServedJob>> BeginBeside(int64_t beside);
  std::shared_ptr<ServedJob> Add(std::shared_ptr<ServedJob> beside);
  // Why no other job can be loaded yet.
  absl::Status StillThere(const ServedJob& job) const;
  absl::StatusOr<std::shared_ptr<ServedJob>> Find(int64_t job) const;
  absl::Status AwaitFirstWorkers(const JobCall& call);
  bool is_over() const;
  // Why a call failed: if the coordinator is shutting down, that comes first.
  absl::Status Explained(const absl::Status& status) const;
  void Note(const StepFigures& figures);

  const Options options_;
  CompileCache cache_;
  const absl::Time started_ = SteadyNow();
  LastFigures figures_;
  LineWatchers watchers_;
  mutable std::mutex mutex_;  // Guards the members below up to `planning_`.
  bool is_over_ = false;
  bool have_all_joined_ = false;
  int64_t last_number_ = 0;
  Jobs jobs_;  // Beside each other, by number; some may be over.
  CallThread planning_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_API_SERVED_JOBS_H_
