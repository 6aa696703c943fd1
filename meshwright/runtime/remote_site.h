// A job on workers, as directed by the coordinator.
#ifndef MESHWRIGHT_RUNTIME_REMOTE_SITE_H_
#define MESHWRIGHT_RUNTIME_REMOTE_SITE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/runtime/job.h"
#include "meshwright/runtime/job_site.h"
#include "meshwright/runtime/load_on_team.h"
#include "meshwright/runtime/remote_worker.h"
#include "meshwright/runtime/worker_watch.h"

namespace meshwright {

class RemoteSite : public JobSite {
 public:
  // Unloads the job at the end. The job must be placed and loaded on the team
  // (by worker number), which the watch covers. No other job has its number of
  // calls as long as somebody has `number`.
  RemoteSite(Job job, std::shared_ptr<const JobNumber> number, Team team,
             std::shared_ptr<WorkerWatch> watch, double compile_seconds)
      : RemoteSite(std::move(job), std::move(number), std::move(team),
                   std::move(watch), compile_seconds,
                   std::make_shared<Abortion>()) {}
  ~RemoteSite() override;

  const Job& job() const override { return job_; }
  double compile_seconds() const { return compile_seconds_; }
  const Team& team() const { return team_; }
  int workers() const { return static_cast<int>(team_.size()); }
  int64_t number() const { return number_->id; }

  // Queued; errors are returned by the next Steps or Read.
  absl::Status Set(const ParameterShard& at, const GivenArray& whole) override;
  absl::Status TakeStaged(int64_t batch) override;
  // kUnavailable, naming the worker and the last step that all completed, if
  // one is lost; from then on always.
  absl::StatusOr<std::vector<StepReport>> Steps(int64_t count) override;
  absl::Status Read(absl::Span<const ShardAt> shards,
                    absl::Span<const absl::Span<std::byte>> into) override;
  absl::Status ReadWhole(ShardAt::Kind kind, int64_t index,
                         absl::Span<std::byte> whole) override;
  absl::StatusOr<std::unique_ptr<JobSite>> LoadInit(JobSource init) override;
  absl::Status Adopt(JobSite& init,
                     const std::vector<int64_t>& parameters) override;
  bool IsBeside(JobSite& other) const override;
  absl::Status Share(JobSite& from,
                     const std::vector<SharedParameter>& pairs) override;
  // Queued, as Set.
  absl::Status Drop(const std::vector<int64_t>& parameters) override;
  absl::StatusOr<std::unique_ptr<StateWrite>> BeginSave(
      const StateMap& map, const std::string& folder, bool copy) override;
  absl::Status ReadState(const StateMap& map,
                         const std::string& folder) override;
  void Abort(const absl::Status& why) override;
  const RemoteSite* remote_site() const override { return this; }

 protected:
  absl::Status FeedWorkers(const DatasetSpec* spec, int64_t position) override;

 private:
  // Of a job, and of the initial one beside it: workers abort both.
  struct Abortion {
    std::mutex mutex;
    absl::Status why;  // Guarded by the mutex.
  };

  RemoteSite(Job job, std::shared_ptr<const JobNumber> number, Team team,
             std::shared_ptr<WorkerWatch> watch, double compile_seconds,
             std::shared_ptr<Abortion> abortion);

  int64_t steps_run() const override { return next_step_; }
  // Reply numbers, by worker.
  using Replies = std::vector<uint64_t>;

  // Sends a command of this job to all workers, of which only a failure is
  // reported.
  absl::Status PostAll(const proto::WorkerCommand& command);
  // Sends a command of this job to all workers.
  absl::StatusOr<Replies> CommandAll(const proto::WorkerCommand& command);
  // The same, and waits until they have carried it out.
  absl::Status Direct(const proto::WorkerCommand& command,
                      absl::Duration limit);

  // Waits for replies, and collects steps as they complete.
  absl::Status Await(const Replies& ids, absl::Duration limit,
                     std::vector<StepReport>* reports);
  void Merge(std::vector<StepReport>* reports);
  // After a mistake of the user that one worker has found: whether the others
  // have come to nothing either, so that the job can go on. Otherwise some may
  // wait for that one.
  bool IsHarmless(Replies& ids, absl::Duration limit,
                  std::vector<StepReport>* reports);
  // Ends the job everywhere, and returns who is to blame.
  absl::Status Fail(const Replies& ids, absl::Status first);
  absl::Status aborted();
  // A shard to be read: into its place, or by the worker into a region.
  struct ShardWish {
    ShardAt at;
    absl::Span<std::byte> into = {};
    std::optional<proto::SharedRegion> region = std::nullopt;
  };
  int WorkerOf(const ShardAt& at) const;
  absl::Status ReadShards(absl::Span<const ShardWish> wishes);
  // Puts the parts of shards that have come where they are wanted.
  absl::Status TakeParts();

  const Job job_;
  const std::shared_ptr<const JobNumber> number_;
  const Team team_;
  const std::shared_ptr<WorkerWatch> watch_;
  const double compile_seconds_;
  int64_t next_step_ = 0;  // The first that not all workers have run.
  struct Underway {
    StepReport report;
    int workers = 0;  // That have run it.
  };
  std::map<int64_t, Underway> underway_;
  // A Read in progress: by worker, its reply's number, and where the shards go
  // that were requested from it.
  struct Wanted {
    uint64_t id = 0;
    std::vector<absl::Span<std::byte>> into;
  };
  std::vector<Wanted> wanted_;
  uint64_t next_save_ = 0;
  bool is_adopted_ = false;  // Workers have unloaded it.
  absl::Status failure_;
  const std::shared_ptr<Abortion> abortion_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_REMOTE_SITE_H_
