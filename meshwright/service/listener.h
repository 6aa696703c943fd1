// A port on which gRPC services are served.
#ifndef MESHWRIGHT_SERVICE_LISTENER_H_
#define MESHWRIGHT_SERVICE_LISTENER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "meshwright/service/limits.h"
#include "meshwright/service/security.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace meshwright {

struct ListenOptions {
  std::string address;
  Security security = {};
  absl::Duration keepalive_time = kKeepaliveTime;
  absl::Duration keepalive_timeout = kKeepaliveTimeout;
};

class Listener {
 public:
  // Checks the address (CheckListen) and starts. The services must outlive it.
  // kFailedPrecondition if the port is in use.
  static absl::StatusOr<std::unique_ptr<Listener>> Start(
      const ListenOptions& options, absl::Span<grpc::Service* const> services);
  // Ends all calls, and waits for their handlers.
  ~Listener();

  int port() const { return port_; }

 private:
  Listener(std::unique_ptr<grpc::Server> server, int port);

  std::unique_ptr<grpc::Server> server_;
  int port_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_LISTENER_H_
