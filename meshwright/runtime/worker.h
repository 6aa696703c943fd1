// A worker: runs jobs on the devices of its process, as directed by a
// coordinator.
//
//   MW_ASSIGN_OR_RETURN(auto link, JoinCoordinator(...));
//   return Worker(link.get(), {.engine = &engine, ...}).Serve();
//
// Programs and timetables are sent once per job; after that one command runs
// any number of steps. One job at a time, and those that are loaded beside it.
#ifndef MESHWRIGHT_RUNTIME_WORKER_H_
#define MESHWRIGHT_RUNTIME_WORKER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "meshwright/engine/plugin.h"
#include "meshwright/runtime/compile_cache.h"
#include "meshwright/runtime/job_spec.h"
#include "meshwright/runtime/worker_engine.h"
#include "meshwright/runtime/worker_link.h"
#include "meshwright/wire/wire.h"

namespace meshwright {

class Worker {
 public:
  struct Options {
    WorkerEngine* engine = nullptr;
    const Plugin* plugin = nullptr;  // Of the engine's clients.
    // Connects to the job's other workers; `member` is this one's index.
    std::function<absl::StatusOr<std::unique_ptr<Wire>>(
        const JobSpec& spec, int member, KeyValueStore* store)>
        connect;
    absl::Duration heartbeat = absl::Seconds(1);
    CompileCache* cache = nullptr;  // May be null.
    // Restarts the process: called if the coordinator says so. Null: not
    // possible.
    std::function<void()> renew = nullptr;
    // Restarts the process, or ends it if the worker is over: called if a job
    // was aborted, or the worker told to end or its coordinator lost,
    // `stuck_after` ago, and what was under way has not ended: devices wait
    // for those of other workers, say. Null: not possible.
    std::function<void(const absl::Status& why, bool is_over)> stuck = nullptr;
    absl::Duration stuck_after = absl::Seconds(30);
  };

  // All arguments must outlive it.
  Worker(CoordinatorLink* link, Options options);
  ~Worker();

  // Until the coordinator ends it, with the status that it says; kUnavailable
  // if the coordinator is lost, or wants this worker to restart.
  absl::Status Serve();

 private:
  class Desk;

  CoordinatorLink* const link_;
  const std::function<void()> renew_;
  const std::unique_ptr<Desk> desk_;
  const absl::Duration heartbeat_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_WORKER_H_
