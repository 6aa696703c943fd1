// Directs workers: admits them, gives them jobs, and watches them.
//
//   Coordinator coordinator({});
//   ...                       // service/ calls Admit for those that join.
//   MW_RETURN_IF_ERROR(coordinator.AwaitWorkers(4, absl::Minutes(1)));
//   MW_ASSIGN_OR_RETURN(auto site, coordinator.Load(std::move(source)));
//   const Job& job = site->job();
//   JobRunner runner(module, &job, std::move(site));
//
// The coordinator compiles nothing and runs nothing: what crashes a compiler
// crashes a worker. One job at a time; the next may be loaded when the site of
// the last is gone.
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
  };

  explicit Coordinator(Options options);
  ~Coordinator();  // Ends the workers.

  // From any thread. A worker with the rank of one that lives is sent away.
  void Admit(std::unique_ptr<WorkerLink> link);

  // kDeadlineExceeded, saying how many are there, when they do not come;
  // kUnavailable when one that came is gone.
  absl::Status AwaitWorkers(int count, absl::Duration timeout);

  // In the order of their ranks, those without one as they came. With those
  // that are lost.
  Team workers() const;
  // Of those that are lost, all but the last `kept`.
  void ForgetLost(size_t kept);
  // Tells all to end; those that come later, too.
  void EndWorkers();

  // Places the job on the devices of the workers that live, in their order, and
  // has it compiled there. Workers whose processes cannot be in its team begin
  // anew before that (renew_workers.h). What `source` points at outlives the
  // call.
  absl::StatusOr<std::unique_ptr<RemoteSite>> Load(JobSource source);

 private:
  // On workers that live: those that get the job.
  absl::StatusOr<Team> Place(Job& job) const;

  const std::shared_ptr<WorkerWatch> watch_;
  mutable std::mutex mutex_;
  Team workers_;
  int next_number_ = 0;  // Of a worker without a rank.
  bool is_over_ = false;
  int64_t next_job_ = 1;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_COORDINATOR_H_
