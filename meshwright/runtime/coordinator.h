// Directs workers: admits them, gives them jobs, and watches them.
//
//   Coordinator coordinator({});
//   ...                       // service/ calls Admit for those that join.
//   MW_RETURN_IF_ERROR(coordinator.AwaitWorkers(4, absl::Minutes(1)));
//   MW_ASSIGN_OR_RETURN(auto site, coordinator.Load(std::move(source)));
//   const Job& job = site->job();
//   JobRunner runner(module, &job, std::move(site));
//
// The coordinator compiles nothing and runs nothing, so that what crashes a
// compiler crashes a worker only. One job at a time, apart from those that are
// loaded beside another; the next may be loaded once the sites of the last ones
// are destroyed. Sites of jobs beside each other are used by one thread at a
// time, so that all workers run their steps in one order.
#ifndef MESHWRIGHT_RUNTIME_COORDINATOR_H_
#define MESHWRIGHT_RUNTIME_COORDINATOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "meshwright/runtime/job.h"
#include "meshwright/runtime/remote_site.h"
#include "meshwright/runtime/worker_link.h"
#include "meshwright/runtime/worker_watch.h"

namespace meshwright {

// Thread-safe.
class Coordinator {
 public:
  struct Options {
    WorkerWatch::Limits limits;
    WorkerWatch::Obituary obituary;
    // Of the cluster that jobs are planned for, in its order, by name or
    // address: a plan may give the first other work than the second.
    std::vector<std::string> hosts = {};
  };

  explicit Coordinator(Options options);
  ~Coordinator();  // Ends the workers.

  // May be called from any thread. A worker with the rank of a live one is
  // rejected.
  void Admit(std::unique_ptr<WorkerLink> link);

  // kDeadlineExceeded, saying how many have joined, if they do not come in
  // time; kUnavailable if one that joined is lost.
  absl::Status AwaitWorkers(int count, absl::Duration timeout);

  // By rank; those without one by the place of their host in `hosts`, others in
  // the order in which they joined. Includes lost workers.
  Team workers() const;
  // Forgets all lost workers but the last `kept`.
  void ForgetLost(size_t kept);
  // Tells all workers to end with this status, including those that join
  // later.
  void EndWorkers(const absl::Status& with = absl::OkStatus());

  // Places the job on the devices of the live workers, in their order, and has
  // it compiled there. Workers whose processes cannot be in its team are
  // restarted first (renew_workers.h). What `source` points to must outlive the
  // call. `beside`: a job that stays; kFailedPrecondition if this one needs
  // other workers, or needs them otherwise.
  absl::StatusOr<std::unique_ptr<RemoteSite>> Load(
      JobSource source, const RemoteSite* beside = nullptr);

 private:
  // Places it on live workers, and returns those that get the job.
  absl::StatusOr<Team> Place(Job& job) const;
  // The same, and restarts those that have to be.
  absl::StatusOr<Team> PlaceAnew(Job& job);
  std::shared_ptr<const JobNumber> NextNumber(const RemoteSite* beside);
  int64_t PlaceOf(const proto::Hello& hello) const;

  const std::vector<std::string> hosts_;  const std::shared_ptr<WorkerWatch> watch_;
  mutable std::mutex mutex_;
  Team workers_;
  int next_number_ = 0;  // For a worker without a rank.
  bool is_over_ = false;
  absl::Status end_;  // With which workers end then.
  int64_t next_job_ = 1;
  // By CallsOf's argument: the number of the job that has it.
  std::vector<std::weak_ptr<const JobNumber>> calls_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_COORDINATOR_H_
