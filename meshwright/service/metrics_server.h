// An HTTP server for metrics (Prometheus): GET /metrics, GET /healthz.
//
//   MW_ASSIGN_OR_RETURN(
//       auto server, MetricsServer::Start({.address = {"127.0.0.1", 9464},
//                                          .text = text}));
//
// HTTP/1.1. Beyond loopback it takes a certificate and a token, as the service
// does: then it is HTTPS, and who asks for /metrics must send the token
// (Authorization: Bearer). The size, number and duration of requests are
// bounded, and everything else is answered with an error or disconnected.
#ifndef MESHWRIGHT_SERVICE_METRICS_SERVER_H_
#define MESHWRIGHT_SERVICE_METRICS_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "meshwright/launch/host_port.h"
#include "meshwright/service/security.h"

namespace meshwright {

struct MetricsServerOptions {
  HostPort address = {"127.0.0.1", 0};  // Port 0: any free one.
  Security security = {};
  // The response of /metrics; called on the server's thread.
  std::function<std::string()> text;
  // Within which a client must have sent its request, and received the
  // response.
  absl::Duration timeout = absl::Seconds(5);
};

class MetricsServer {
 public:
  // Checks the address (CheckListen) and starts. kFailedPrecondition if the
  // port is in use.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(
      MetricsServerOptions options);
  virtual ~MetricsServer() = default;

  // "https://host-3:9464/metrics"
  virtual std::string url() const = 0;
  virtual int port() const = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_METRICS_SERVER_H_
