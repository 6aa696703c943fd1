// The server that workers join.
//
//   MW_ASSIGN_OR_RETURN(auto server, WorkerServer::Start(
//       {.address = "127.0.0.1:0",
//        .on_join = [](std::unique_ptr<WorkerLink> link) {},
//        .store = &store}));
//   server->port();   // 40123
//
// A killed worker is detected within a second, one whose host falls silent
// within 15.
#ifndef MESHWRIGHT_SERVICE_WORKER_SERVER_H_
#define MESHWRIGHT_SERVICE_WORKER_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "meshwright/base/shared_memory.h"
#include "meshwright/runtime/worker_link.h"
#include "meshwright/service/job_server.h"
#include "meshwright/service/job_service.h"
#include "meshwright/service/limits.h"
#include "meshwright/service/security.h"
#include "meshwright/wire/key_value_store.h"

namespace meshwright {

struct WorkerServerOptions {
  std::string address = "127.0.0.1:0";
  Security security = {};
  // Called on a thread of the link; events are delivered after it has returned.
  std::function<void(std::unique_ptr<WorkerLink>)> on_join;
  KeyValueStore* store = nullptr;  // Must outlive the server.
  // Time in which a worker must introduce itself.
  absl::Duration hello_timeout = absl::Seconds(10);
  // A host that falls silent is detected within the sum of these.
  absl::Duration keepalive_time = kKeepaliveTime;
  absl::Duration keepalive_timeout = kKeepaliveTimeout;
  // If set, answers clients on the same port. Must outlive the server.
  JobService* jobs = nullptr;
  int64_t max_upload_bytes = kMaxUploadBytes;
  std::shared_ptr<const SharedMemory> memory = nullptr;  // As JobServer's.
};

class WorkerServer {
 public:
  static absl::StatusOr<std::unique_ptr<WorkerServer>> Start(
      WorkerServerOptions options);
  // Ends all connections: remaining links lose their workers. Waits for
  // on_join.
  virtual ~WorkerServer() = default;

  virtual int port() const = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_WORKER_SERVER_H_
