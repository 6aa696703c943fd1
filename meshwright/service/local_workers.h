// Worker processes on this machine, started and ended by this process.
//
//   MW_ASSIGN_OR_RETURN(auto workers, LocalWorkers::Start({.count = 4}));
//   MW_ASSIGN_OR_RETURN(auto site, workers->coordinator().Load(...));
#ifndef MESHWRIGHT_SERVICE_LOCAL_WORKERS_H_
#define MESHWRIGHT_SERVICE_LOCAL_WORKERS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "meshwright/launch/child_process.h"
#include "meshwright/runtime/coordinator.h"
#include "meshwright/service/worker_server.h"
#include "meshwright/wire/memory_key_value_store.h"

namespace meshwright {

class LocalWorkers {
 public:
  struct Options {
    int count = 1;
    int64_t devices = 1;   // Per worker, if they are virtual.
    std::string platform;  // Empty: the worker's choice.
    // The program that runs as a worker with the argument "worker"; empty: this
    // one.
    std::string program;
    std::vector<std::string> further;  // Flags for all workers.
    WorkerWatch::Limits limits;
    absl::Duration join_timeout = absl::Seconds(60);
  };

  // Returns when all have joined. kUnavailable, saying how it ended, if one
  // ends before that.
  static absl::StatusOr<std::unique_ptr<LocalWorkers>> Start(
      const Options& options);
  // Tells them to end, and kills them after a second.
  ~LocalWorkers();

  Coordinator& coordinator() { return *coordinator_; }
  // For tests: their processes.
  const std::vector<std::unique_ptr<ChildProcess>>& children() const {
    return children_;
  }

 private:
  LocalWorkers() = default;

  absl::Status Launch(const Options& options, const std::string& token);
  absl::Status AwaitJoin(const Options& options);
  std::string Obituary(const proto::Hello& hello) const;

  MemoryKeyValueStore store_;
  std::vector<std::unique_ptr<ChildProcess>> children_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<WorkerServer> server_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_LOCAL_WORKERS_H_
