#include "meshwright/service/job_server.h"

#include <utility>

#include "meshwright/base/status_macros.h"
#include "meshwright/service/job_answers.h"
#include "meshwright/service/listener.h"

namespace meshwright {
namespace {

class ListeningJobServer : public JobServer {
 public:
  ListeningJobServer(std::unique_ptr<JobAnswers> answers,
                     std::unique_ptr<Listener> listener)
      : answers_(std::move(answers)), listener_(std::move(listener)) {}

  int port() const override { return listener_->port(); }

 private:
  std::unique_ptr<JobAnswers> answers_;
  std::unique_ptr<Listener> listener_;  // Ends first.
};

}  // namespace

absl::StatusOr<std::unique_ptr<JobServer>> JobServer::Start(
    JobServerOptions options) {
  auto answers = JobAnswers::Create(options);
  MW_ASSIGN_OR_RETURN(auto listener,
                      Listener::Start({.address = options.address,
                                       .security = options.security},
                                      {answers->service()}));
  return std::make_unique<ListeningJobServer>(std::move(answers),
                                              std::move(listener));
}

}  // namespace meshwright
