// Where Prometheus and the like ask for metrics: GET /metrics, GET /healthz.
//
//   MW_ASSIGN_OR_RETURN(auto server,
//                       MetricsServer::Start({.port = 9464, .text = text}));
//
// HTTP/1.1 on this machine's loopback interface only: there is no secret.
// Requests are short, their number and time bounded, and everything else is
// answered with an error or hung up on.
#ifndef MESHWRIGHT_SERVICE_METRICS_SERVER_H_
#define MESHWRIGHT_SERVICE_METRICS_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace meshwright {

struct MetricsServerOptions {
  int port = 0;  // 0: any that is free.
  // What /metrics answers; called on the server's thread.
  std::function<std::string()> text;
  // Within which a client must have asked, and taken its answer.
  absl::Duration timeout = absl::Seconds(5);
};

class MetricsServer {
 public:
  // kFailedPrecondition when the port is in use.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(
      MetricsServerOptions options);
  virtual ~MetricsServer() = default;

  virtual int port() const = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_METRICS_SERVER_H_
