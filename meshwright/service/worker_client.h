// Joins a coordinator as a worker.
//
//   MW_ASSIGN_OR_RETURN(auto link,
//                       JoinCoordinator({.address = "host-0:7777",
//                                        .hello = hello}));
//   link->Next();
#ifndef MESHWRIGHT_SERVICE_WORKER_CLIENT_H_
#define MESHWRIGHT_SERVICE_WORKER_CLIENT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "meshwright/runtime/worker_link.h"
#include "meshwright/service/security.h"
#include "proto/worker.pb.h"

namespace meshwright {

struct JoinCoordinatorOptions {
  std::string address;
  Security security = {};
  // Unset `protocol`, `version`, `host` and `pid` are filled in.
  proto::Hello hello = {};
  // How long to retry while nothing listens there.
  absl::Duration connect_timeout = absl::Seconds(30);
};

// Returns once the coordinator has admitted the worker. Otherwise a one-line
// explanation: kUnavailable if nobody could be reached in time;
// kUnauthenticated for a wrong token; kFailedPrecondition for TLS or version
// mismatches.
absl::StatusOr<std::unique_ptr<CoordinatorLink>> JoinCoordinator(
    JoinCoordinatorOptions options);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_WORKER_CLIENT_H_
