// Decides how to start a worker on every host of a cluster.
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
  std::string host;  // In ssh's syntax; empty: this machine.
  // The number of virtual devices; with accelerators a worker has all of its
  // host.
  std::optional<int64_t> devices;

  bool operator==(const WorkerStart&) const = default;
};

struct StartOptions {
  // How many workers share the virtual devices.
  std::optional<int64_t> workers;
  bool is_anywhere = false;  // Hosts need no addresses: Ray assigns them.
};
// One for each host. kInvalidArgument if there are several hosts without
// addresses, or `workers` is given for real devices.
absl::StatusOr<std::vector<WorkerStart>> WorkerStarts(
    const Cluster& cluster, const StartOptions& options);

struct LaunchOptions {
  // The coordinator's HOST:PORT. An empty host means this machine, by the
  // address that the worker's host sees.
  std::string join;
  std::string platform;              // Empty: the worker's choice.
  std::string program;               // On other hosts.
  std::vector<std::string> ssh;      // "ssh", with options.
  std::vector<std::string> further;  // Flags for all workers.
};
// The local process to start: the worker, or ssh.
absl::StatusOr<ChildOptions> WorkerProcess(const WorkerStart& start,
                                           const LaunchOptions& options);

// A process that starts all workers on hosts of a Ray cluster.
absl::StatusOr<ChildOptions> RayProcess(const std::string& address,
                                        const std::vector<WorkerStart>& starts,
                                        const Cluster& cluster,
                                        const LaunchOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_LAUNCH_WORKERS_H_
