// How a worker joins a coordinator.
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
  // `protocol` and `version` are filled in where they are not set, so are
  // `host` and `pid`.
  proto::Hello hello = {};
  // Tries again until then while nothing listens there.
  absl::Duration connect_timeout = absl::Seconds(30);
};

// Returns once the coordinator has let the worker in. Otherwise says why not in
// one line: kUnavailable, nobody could be reached in time; kUnauthenticated,
// the token; kFailedPrecondition, TLS or another version.
absl::StatusOr<std::unique_ptr<CoordinatorLink>> JoinCoordinator(
    JoinCoordinatorOptions options);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_WORKER_CLIENT_H_
