// The client side of a coordinator's JobService.
//
//   MW_ASSIGN_OR_RETURN(auto jobs, ConnectJobs({.address = "host-0:7777"}));
//   jobs->Plan(...);
#ifndef MESHWRIGHT_SERVICE_JOB_CLIENT_H_
#define MESHWRIGHT_SERVICE_JOB_CLIENT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "meshwright/service/job_service.h"
#include "meshwright/service/security.h"

namespace meshwright {

struct ConnectJobsOptions {
  std::string address;
  Security security = {};
  absl::Duration connect_timeout = absl::Seconds(10);
};

// Returns once the coordinator has answered; otherwise a one-line explanation,
// as JoinCoordinator does. Calls end within a tenth of a second after their
// JobCall is cancelled.
absl::StatusOr<std::unique_ptr<JobService>> ConnectJobs(
    ConnectJobsOptions options);

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_JOB_CLIENT_H_
