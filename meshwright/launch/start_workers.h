// Starts the workers of a job: here, by ssh on the hosts of a cluster, or on
// those of a Ray cluster; and waits for them.
//
//   MW_ASSIGN_OR_RETURN(const std::string program, ProgramPath());
//   MW_ASSIGN_OR_RETURN(const auto workers,
//                       StartLocalWorkers(4, {.program = program,
//                                             .join = "127.0.0.1:7777",
//                                             .devices = 2}));
//   AwaitWorkers(workers, absl::Seconds(10));
//       // "worker 2: killed by signal 9 (SIGKILL)"
#ifndef MESHWRIGHT_LAUNCH_START_WORKERS_H_
#define MESHWRIGHT_LAUNCH_START_WORKERS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "meshwright/launch/child_process.h"
#include "meshwright/mesh/cluster.h"

namespace meshwright {

struct WorkersOptions {
  std::string program = "meshwright";  // There; a path, or found on PATH.
  std::string join;                    // The coordinator's HOST:PORT.
  std::optional<int64_t> devices;      // Of each.
  std::string platform;                // Empty: the workers' choice.
  std::map<std::string, std::string> environment;  // For them.
  // Each one's output goes to worker-I.log in this folder, which exists; empty:
  // to stderr, with "[worker I]" before each line. Not for Ray.
  std::string log_folder;
  std::vector<std::string> ssh = {"ssh"};  // With further options, if any.
};

using Workers = std::vector<std::unique_ptr<ChildProcess>>;

// All or none; ranks are 0, 1, ...
absl::StatusOr<Workers> StartLocalWorkers(int count,
                                          const WorkersOptions& options);
// One on each host, with the host's devices unless `options` say otherwise.
absl::StatusOr<Workers> StartSshWorkers(const Cluster& cluster,
                                        const WorkersOptions& options);
// One process here (launch_ray.py) that looks after one worker per host of the
// Ray cluster at `address`; its exit code is the worst of theirs.
absl::StatusOr<Workers> StartRayWorkers(const std::string& address,
                                        const Cluster& cluster,
                                        const WorkersOptions& options);

// Until all have ended well. When one has not, the others are terminated within
// `grace`, and kUnavailable says which it was and how it ended.
absl::Status AwaitWorkers(
    absl::Span<const std::unique_ptr<ChildProcess>> workers,
    absl::Duration grace);

}  // namespace meshwright

#endif  // MESHWRIGHT_LAUNCH_START_WORKERS_H_
