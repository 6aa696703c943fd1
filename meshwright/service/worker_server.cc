#include "meshwright/service/worker_server.h"

#include <utility>
#include <vector>

#include "meshwright/base/status_macros.h"
#include "meshwright/service/job_answers.h"
#include "meshwright/service/listener.h"
#include "meshwright/service/worker_service.h"

namespace meshwright {
namespace {

class ListeningWorkerServer : public WorkerServer {
 public:
  ListeningWorkerServer(std::unique_ptr<WorkerService> workers,
                        std::unique_ptr<JobAnswers> jobs,
                        std::unique_ptr<Listener> listener)
      : workers_(std::move(workers)),
        jobs_(std::move(jobs)),
        listener_(std::move(listener)) {}

  int port() const override { return listener_->port(); }

 private:
  std::unique_ptr<WorkerService> workers_;
  std::unique_ptr<JobAnswers> jobs_;
  std::unique_ptr<Listener> listener_;  // Ends first.
};

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerServer>> WorkerServer::Start(
    WorkerServerOptions options) {
  const ListenOptions listen = {.address = options.address,
                                .security = options.security,
                                .keepalive_time = options.keepalive_time,
                                .keepalive_timeout = options.keepalive_timeout};
  std::unique_ptr<JobAnswers> jobs;
  if (options.jobs != nullptr) {
    jobs = JobAnswers::Create({.security = options.security,
                               .jobs = options.jobs,
                               .max_upload_bytes = options.max_upload_bytes,
                               .memory = options.memory});
  }
  auto workers = WorkerService::Create(std::move(options));
  std::vector<grpc::Service*> services = {workers->service()};
  if (jobs != nullptr) services.push_back(jobs->service());
  MW_ASSIGN_OR_RETURN(auto listener, Listener::Start(listen, services));
  return std::make_unique<ListeningWorkerServer>(
      std::move(workers), std::move(jobs), std::move(listener));
}

}  // namespace meshwright
