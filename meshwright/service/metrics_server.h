// An HTTP server for metrics (Prometheus): GET /metrics, GET /healthz.
//
//   MW_ASSIGN_OR_RETURN(auto server,
//                       MetricsServer::Start({.port = 9464, .text = text}));
//
// HTTP/1.1 on this machine's loopback interface only, without authentication.
// The size, number and duration of requests are bounded, and everything else is
// answered with an error or disconnected.
#ifndef MESHWRIGHT_SERVICE_METRICS_SERVER_H_
#define MESHWRIGHT_SERVICE_METRICS_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace meshwright {

struct MetricsServerOptions {
  int port = 0;  // 0: any free port.
  // The response of /metrics; called on the server's thread.
  std::function<std::string()> text;
  // Within which a client must have sent its request, and received the
  // response.
  absl::Duration timeout = absl::Seconds(5);
};

class MetricsServer {
 public:
  // kFailedPrecondition if the port is in use.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(
      MetricsServerOptions options);
  virtual ~MetricsServer() = default;

  virtual int port() const = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_METRICS_SERVER_H_
