// A coordinator for workers and clients: `meshwright serve`, and `meshwright
// launch` without --join.
//
//   MW_ASSIGN_OR_RETURN(ServingOptions options, ServingOptionsOf(line));
//   MW_ASSIGN_OR_RETURN(auto serving, Serving::Start(options));
//   while (end.Wait(200ms) == 0) serving->Look();
#ifndef MESHWRIGHT_CLI_SERVING_H_
#define MESHWRIGHT_CLI_SERVING_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/api/served_jobs.h"
#include "meshwright/base/line_file.h"
#include "meshwright/base/process_end.h"
#include "meshwright/base/shared_memory.h"
#include "meshwright/cli/command_line.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/runtime/coordinator.h"
#include "meshwright/service/metrics_server.h"
#include "meshwright/service/security.h"
#include "meshwright/service/step_socket.h"
#include "meshwright/service/worker_server.h"
#include "meshwright/wire/memory_key_value_store.h"

namespace meshwright {

struct ServingOptions {
  std::string listen = "127.0.0.1:7777";
  Security security = {};
  std::optional<Cluster> cluster = {};
  int workers = 0;  // How many to wait for; 0: no particular number.
  // Jobs run in this process; workers are rejected.
  bool own_devices = false;
  std::string cache = {};  // A folder of their programs; empty: none.
  std::shared_ptr<const SharedMemory> memory = {};  // With clients.
  std::optional<int> step_socket = {};  // Of one client, a file descriptor.
  std::optional<MetricsServerOptions> metrics = {};  // Without its text.
  std::string metrics_file = {};                     // Empty: none.
  WorkerWatch::Limits limits = {};
  WorkerWatch::Obituary obituary = nullptr;
};

// --listen, --metrics-port, --metrics-listen, --metrics, --step-timeout;
// without the security flags.
std::vector<FlagSpec> ServingFlags();
// Includes the security flags; the cluster and the workers are set by the
// caller.
absl::StatusOr<ServingOptions> ServingOptionsOf(const CommandLine& line);

class Serving {
 public:
  static absl::StatusOr<std::unique_ptr<Serving>> Start(
      const ServingOptions& options);
  // Ends the job and the workers, and the process if planning is in progress.
  ~Serving();

  int port() const { return server_->port(); }
  // Prints who has joined and left since.
  void Look();
  // What started this process is gone, and was a worker, perhaps: waits, for
  // some seconds at most, until the clients of the job have been told, unless
  // a signal comes. Then ends the job, and the workers with kUnavailable.
  void EndAfterStarter(const EndRequest& end);
  // Whether its output could be written.
  absl::Status status() const;

 private:
  explicit Serving(const ServingOptions& options);

  int64_t living() const;
  bool has_lost() const;
  // "2 of 4 workers"
  std::string Count() const;

  const int expected_;
  MemoryKeyValueStore store_;
  std::unique_ptr<LineFile> metrics_file_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<ServedJobs> jobs_;
  std::unique_ptr<WorkerServer> server_;
  std::unique_ptr<StepSocket> step_socket_;
  std::unique_ptr<MetricsServer> metrics_;
  // Workers that were announced, by serial(). The coordinator may forget those
  // that are lost before they were looked at.
  std::map<int64_t, std::shared_ptr<RemoteWorker>> present_;
};

// Prints a line on stdout and flushes it, also in a pipe.
void SayLine(absl::string_view line);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_SERVING_H_
