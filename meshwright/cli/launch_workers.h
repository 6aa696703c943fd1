// What starts a worker on every host of a cluster.
//
//   MW_ASSIGN_OR_RETURN(const std::vector<WorkerStart> starts,
//                       WorkerStarts(cluster, {}));
//   // rank 0: a process here; rank 1: ssh gpu02 ...
#ifndef MESHWRIGHT_CLI_LAUNCH_WORKERS_H_
#define MESHWRIGHT_CLI_LAUNCH_WORKERS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/launch/child_process.h"
#include "meshwright/mesh/cluster.h"

namespace meshwright {

// Where a worker is to run.
struct WorkerStart {
  int rank = 0;
  std::string host;  // As ssh takes it; empty: this machine.
  // Virtual ones; of accelerators a worker has all that its host has.
  std::optional<int64_t> devices;

  bool operator==(const WorkerStart&) const = default;
};

struct StartOptions {
  std::optional<int64_t> workers;  // That share devices which are virtual.
  bool is_anywhere = false;        // Hosts need no addresses: Ray finds some.
};
// One for each host. kInvalidArgument when hosts have no addresses and there
// are several, or `workers` is given where devices are real.
absl::StatusOr<std::vector<WorkerStart>> WorkerStarts(
    const Cluster& cluster, const StartOptions& options);

struct LaunchOptions {
  // The coordinator's HOST:PORT. With an empty host it is this machine, by the
  // address that the worker's host sees.
  std::string join;
  std::string platform;              // Empty: the worker's choice.
  std::string program;               // On other hosts.
  std::vector<std::string> ssh;      // "ssh", with options.
  std::vector<std::string> further;  // Flags for all workers.
};
// The process to start here: the worker, or ssh.
absl::StatusOr<ChildOptions> WorkerProcess(const WorkerStart& start,
                                           const LaunchOptions& options);

// One that starts all of them on hosts of a Ray cluster.
absl::StatusOr<ChildOptions> RayProcess(const std::string& address,
                                        const std::vector<WorkerStart>& starts,
                                        const Cluster& cluster,
                                        const LaunchOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_LAUNCH_WORKERS_H_
