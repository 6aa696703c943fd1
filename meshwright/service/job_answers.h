// The gRPC service that clients call; job_server.h puts it on a port.
#ifndef MESHWRIGHT_SERVICE_JOB_ANSWERS_H_
#define MESHWRIGHT_SERVICE_JOB_ANSWERS_H_

#include <memory>

#include "meshwright/service/job_server.h"

namespace grpc {
class Service;
}

namespace meshwright {

// Must be destroyed when no call is in progress: after the Listener.
class JobAnswers {
 public:
  static std::unique_ptr<JobAnswers> Create(const JobServerOptions& options);
  virtual ~JobAnswers() = default;

  virtual grpc::Service* service() = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_JOB_ANSWERS_H_
