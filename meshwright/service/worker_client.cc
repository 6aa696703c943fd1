#include "meshwright/service/worker_client.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/steady_time.h"
#include "meshwright/base/version.h"
#include "meshwright/service/channel.h"
#include "meshwright/service/grpc_status.h"
#include "meshwright/service/limits.h"
#include "meshwright/service/message_stream.h"
#include "meshwright/service/metadata.h"
#include "meshwright/service/remote_store.h"
#include "proto/worker.grpc.pb.h"

namespace meshwright {
namespace {

// A call of Join. To be destroyed when it is done.
class JoinCall final
    : public grpc::ClientBidiReactor<proto::WorkerReport, proto::WorkerCommand>,
      public MessageStream<proto::WorkerCommand, proto::WorkerReport> {
 public:
  JoinCall(proto::Workers::Stub& stub, const JoinCoordinatorOptions& options)
      : address_(options.address) {
    AddCredentials(options.security, context_);
    stub.async()->Join(&context_, this);
    // Writes come from any thread: not done before StreamOver.
    AddHold();
    proto::WorkerReport hello;
    *hello.mutable_hello() = options.hello;
    (void)Send(std::move(hello), /*urgent=*/true);  // Nothing is closed yet.
    Open();
    StartCall();
  }
  ~JoinCall() override {
    Close();
    // Whoever has not let us in needs no last messages.
    if (!is_welcome() || !AwaitDone(SteadyNow() + kCloseTimeout)) {
      context_.TryCancel();
      AwaitDone(absl::InfiniteFuture());
    }
  }

  // OK once the coordinator has let us in; else gRPC's error.
  absl::Status AwaitWelcome(absl::Time deadline) {
    std::unique_lock lock(mutex_);
    Await(lock, deadline, [&] { return welcome_ || done_.has_value(); });
    if (welcome_) return absl::OkStatus();
    if (done_.has_value()) {
      return done_->ok() ? absl::UnavailableError("the coordinator is closing")
                         : *done_;
    }
    return DoesNotAnswer(address_);
  }

  // What gRPC says.
  void OnReadInitialMetadataDone(bool ok) override {
    if (!ok || !context_.GetServerInitialMetadata().contains(kVersionKey)) {
      return;
    }
    std::unique_lock lock(mutex_);
    welcome_ = true;
    changed_.notify_all();
  }
  void OnReadDone(bool ok) override { OnRead(ok); }
  void OnWriteDone(bool ok) override { OnWritten(ok); }
  void OnDone(const grpc::Status& status) override {
    const absl::Status why = FromGrpc(status);
    End(absl::UnavailableError(
        why.ok() ? absl::StrCat("the coordinator at ", address_,
                                " ended the connection")
                 : absl::StrCat("lost the coordinator at ", address_, ": ",
                                why.message())));
    std::unique_lock lock(mutex_);
    done_ = why;
    changed_.notify_all();
  }

 private:
  void BeginRead(proto::WorkerCommand* into) override { StartRead(into); }
  void BeginWrite(const proto::WorkerReport* report) override {
    StartWrite(report);
  }
  bool WritesOver() override {
    StartWritesDone();
    return true;
  }
  void StreamOver() override { RemoveHold(); }

  template <typename Condition>
  bool Await(std::unique_lock<std::mutex>& lock, absl::Time deadline,
             const Condition& condition) {
    if (deadline == absl::InfiniteFuture()) {
      changed_.wait(lock, condition);
      return true;
    }
    return changed_.wait_until(lock, AsSteady(deadline), condition);
  }
  bool is_welcome() {
    std::unique_lock lock(mutex_);
    return welcome_;
  }
  bool AwaitDone(absl::Time deadline) {
    std::unique_lock lock(mutex_);
    return Await(lock, deadline, [&] { return done_.has_value(); });
  }

  const std::string address_;
  grpc::ClientContext context_;
  std::mutex mutex_;  // Guards the rest.
  std::condition_variable changed_;
  bool welcome_ = false;
  std::optional<absl::Status> done_;
};

class Link final : public CoordinatorLink {
 public:
  Link(std::unique_ptr<JoinCall> call, std::unique_ptr<RemoteStore> store)
      : store_(std::move(store)), call_(std::move(call)) {}
  ~Link() override { store_->Close(); }

  absl::StatusOr<proto::WorkerCommand> Next() override {
    return call_->Receive();
  }
  absl::Status Send(proto::WorkerReport report) override {
    return call_->Send(std::move(report));
  }
  KeyValueStore& store() override { return *store_; }

 private:
  const std::unique_ptr<RemoteStore> store_;
  const std::unique_ptr<JoinCall> call_;
};

void Complete(proto::Hello& hello) {
  if (hello.protocol() == 0) hello.set_protocol(kProtocol);
  if (hello.version().empty()) hello.set_version(std::string(Version()));
  if (hello.pid() == 0) hello.set_pid(::getpid());
  if (hello.host().empty()) {
    char name[256] = {};
    if (::gethostname(name, sizeof(name) - 1) == 0) hello.set_host(name);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<CoordinatorLink>> JoinCoordinator(
    JoinCoordinatorOptions options) {
  Complete(options.hello);
  const absl::Time deadline = SteadyNow() + options.connect_timeout;
  MW_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel,
                      OpenChannel(options.address, options.security));
  const auto stub = proto::Workers::NewStub(channel);
  while (true) {
    auto call = std::make_unique<JoinCall>(*stub, options);
    const absl::Status status = call->AwaitWelcome(deadline);
    if (status.ok()) {
      return std::make_unique<Link>(
          std::move(call),
          RemoteStore::Create(options.address, options.security, channel));
    }
    const absl::Status why = Explain(options.address, options.security, status);
    if (!IsWorthRetrying(why) || SteadyNow() + kRetryInterval >= deadline) {
      return why;
    }
    absl::SleepFor(kRetryInterval);
  }
}

}  // namespace meshwright
