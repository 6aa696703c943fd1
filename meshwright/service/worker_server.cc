#include "meshwright/service/worker_server.h"

#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/service/listener.h"
#include "meshwright/service/worker_service.h"

namespace meshwright {
namespace {

class Server : public WorkerServer {
 public:
  Server(std::unique_ptr<WorkerService> service,
         std::unique_ptr<Listener> listener)
      : service_(std::move(service)), listener_(std::move(listener)) {}

  int port() const override { return listener_->port(); }

 private:
  std::unique_ptr<WorkerService> service_;
  std::unique_ptr<Listener> listener_;  // Ends first.
};

}  // namespace

absl::StatusOr<std::unique_ptr<WorkerServer>> WorkerServer::Start(
    WorkerServerOptions options) {
  const std::string address = options.address;
  const Security security = options.security;
  auto service = WorkerService::Create(std::move(options));
  MW_ASSIGN_OR_RETURN(auto listener,
                      Listener::Start(address, security, {service->service()}));
  return std::make_unique<Server>(std::move(service), std::move(listener));
}

}  // namespace meshwright
