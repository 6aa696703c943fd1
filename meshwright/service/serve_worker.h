// A worker process from joining to its end.
#ifndef MESHWRIGHT_SERVICE_SERVE_WORKER_H_
#define MESHWRIGHT_SERVICE_SERVE_WORKER_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "meshwright/engine/open_plugin.h"
#include "meshwright/service/security.h"

namespace meshwright {

struct ServeWorkerOptions {
  std::string join;  // HOST:PORT of the coordinator.
  Security security = {};
  int rank = -1;  // -1: any.
  // Its devices, as opened with `client`; in a team they are opened again.
  OpenedPlugin opened;
  ClientOptions client = {};
  absl::Duration connect_timeout = absl::Seconds(30);
  std::string cache;  // A folder of compiled programs; empty: none.
  // Restarts the process, which joins again; null: it ends instead.
  std::function<void()> renew = nullptr;
  // Restarts or ends the process, which is stuck (runtime/worker.h); null: it
  // stays so.
  std::function<void(const absl::Status& why, bool is_over)> stuck = nullptr;
  // Called once it is admitted.
  std::function<void()> joined = nullptr;
};

// Joins, and runs the coordinator's commands until told to end: OK.
// kUnavailable if the coordinator is lost; otherwise why it could not join.
absl::Status ServeWorker(ServeWorkerOptions options);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_SERVE_WORKER_H_
