// The gRPC service that workers call; worker_server.h puts it on a port.
#ifndef MESHWRIGHT_SERVICE_WORKER_SERVICE_H_
#define MESHWRIGHT_SERVICE_WORKER_SERVICE_H_

#include <memory>

#include "meshwright/service/worker_server.h"

namespace grpc {
class Service;
}

namespace meshwright {

// Must be destroyed when no call is in progress: after the Listener.
class WorkerService {
 public:
  static std::unique_ptr<WorkerService> Create(WorkerServerOptions options);
  virtual ~WorkerService() = default;

  virtual grpc::Service* service() = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_WORKER_SERVICE_H_
