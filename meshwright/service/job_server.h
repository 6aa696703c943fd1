// The server side of JobService, by which clients reach a coordinator.
//
//   MW_ASSIGN_OR_RETURN(auto server, JobServer::Start({.jobs = &jobs}));
//   server->port();
//
// WorkerServer can answer clients on the workers' port as well.
#ifndef MESHWRIGHT_SERVICE_JOB_SERVER_H_
#define MESHWRIGHT_SERVICE_JOB_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "meshwright/base/shared_memory.h"
#include "meshwright/service/job_service.h"
#include "meshwright/service/security.h"

namespace meshwright {

// The most that the server holds of incomplete uploads, in total.
inline constexpr int64_t kMaxUploadBytes = int64_t{16} << 30;

struct JobServerOptions {
  std::string address = "127.0.0.1:0";
  Security security = {};
  JobService* jobs = nullptr;  // Must outlive the server.
  int64_t max_upload_bytes = kMaxUploadBytes;
  // Memory that all clients may name regions of; null: that which each shares
  // (memory_shares.h).
  std::shared_ptr<const SharedMemory> memory = nullptr;
};

class JobServer {
 public:
  static absl::StatusOr<std::unique_ptr<JobServer>> Start(
      JobServerOptions options);
  // Cancels all calls, and waits for their answers.
  virtual ~JobServer() = default;

  virtual int port() const = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_JOB_SERVER_H_
