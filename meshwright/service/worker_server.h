// Where workers join a coordinator.
//
//   MW_ASSIGN_OR_RETURN(
//       auto server,
//       WorkerServer::Start({.address = "127.0.0.1:0",
//                            .on_join = [](std::unique_ptr<WorkerLink> link)
//                            {}, .store = &store}));
//   server->port();   // 40123
//
// A worker that is killed is lost within a second, one whose host falls silent
// within 15.
#ifndef MESHWRIGHT_SERVICE_WORKER_SERVER_H_
#define MESHWRIGHT_SERVICE_WORKER_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
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
  // Called on a thread of the link; events come once it has returned.
  std::function<void(std::unique_ptr<WorkerLink>)> on_join;
  KeyValueStore* store = nullptr;  // Outlives the server.
  // Within which a worker must say who it is.
  absl::Duration hello_timeout = absl::Seconds(10);
  // A host that falls silent is found within the sum of these.
  absl::Duration keepalive_time = kKeepaliveTime;
  absl::Duration keepalive_timeout = kKeepaliveTimeout;
  // Answers clients on the same port, where given. Outlives the server.
  JobService* jobs = nullptr;
  int64_t max_upload_bytes = kMaxUploadBytes;
};

class WorkerServer {
 public:
  static absl::StatusOr<std::unique_ptr<WorkerServer>> Start(
      WorkerServerOptions options);
  // Ends all connections: the links still there lose their workers. Waits for
  // on_join.
  virtual ~WorkerServer() = default;

  virtual int port() const = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_WORKER_SERVER_H_
