#include "meshwright/service/worker_service.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/service/grpc_status.h"
#include "meshwright/service/join_stream.h"
#include "meshwright/service/limits.h"
#include "meshwright/service/metadata.h"
#include "meshwright/service/periodic.h"
#include "meshwright/service/value_waits.h"
#include "proto/worker.grpc.pb.h"

namespace meshwright {
namespace {

constexpr std::chrono::milliseconds kTick(50);
// How long one call waits; clients ask again.
constexpr absl::Duration kMaxWait = absl::Seconds(10);

// A call of GetValue. Lives until gRPC is done with it and nobody uses it.
class GetCall final : public grpc::ServerUnaryReactor {
 public:
  static GetCall* Begin(std::shared_ptr<ValueWaits> waits,
                        const proto::GetValueRequest& request,
                        proto::GetValueResponse* response) {
    const std::shared_ptr<GetCall> call(new GetCall(std::move(waits)));
    call->self_ = call;
    const absl::Duration timeout =
        std::min(kMaxWait, absl::Milliseconds(request.timeout_ms()));
    call->wait_ = call->waits_->Wait(
        request.key(), timeout,
        [call = call.get(), response](absl::StatusOr<std::string> value) {
          if (value.ok()) response->set_value(*std::move(value));
          call->Finish(ToGrpc(value.status()));
        });
    // Cancelled before it was known what to cancel?
    if (call->begun_or_cancelled_.exchange(true)) {
      call->waits_->Cancel(call->wait_);
    }
    return call.get();
  }

  void OnCancel() override {
    if (begun_or_cancelled_.exchange(true)) waits_->Cancel(wait_);
  }
  void OnDone() override {
    const std::shared_ptr<GetCall> self = std::move(self_);
  }

 private:
  explicit GetCall(std::shared_ptr<ValueWaits> waits)
      : waits_(std::move(waits)) {}

  const std::shared_ptr<ValueWaits> waits_;
  std::shared_ptr<GetCall> self_;
  int64_t wait_ = 0;
  std::atomic<bool> begun_or_cancelled_ = false;
};

class Service final : public WorkerService,
                      public proto::Workers::CallbackService {
 public:
  explicit Service(WorkerServerOptions options)
      : token_(options.security.token),
        waits_(std::make_shared<ValueWaits>(options.store)),
        joins_(std::make_shared<Joins>(
            JoinOptions{.token = options.security.token,
                        .on_join = std::move(options.on_join),
                        .hello_timeout = options.hello_timeout})),
        ticks_(kTick, [this] {
          waits_->Tick();
          joins_->Tick();
        }) {}
  ~Service() override { joins_->Stop(); }

  grpc::Service* service() override { return this; }

  grpc::ServerBidiReactor<proto::WorkerReport, proto::WorkerCommand>* Join(
      grpc::CallbackServerContext* context) override {
    return joins_->Accept(context);
  }

  grpc::ServerUnaryReactor* SetValue(grpc::CallbackServerContext* context,
                                     const proto::SetValueRequest* request,
                                     proto::SetValueResponse*) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    absl::Status status = Check(*context, request->key());
    if (status.ok() && request->value().size() > kMaxValueBytes) {
      status = absl::InvalidArgumentError(
          absl::StrCat("a value of ", request->value().size(), " bytes for ",
                       request->key(), "; at most ", kMaxValueBytes));
    }
    if (status.ok()) status = waits_->Set(request->key(), request->value());
    reactor->Finish(ToGrpc(status));
    return reactor;
  }

  grpc::ServerUnaryReactor* GetValue(
      grpc::CallbackServerContext* context,
      const proto::GetValueRequest* request,
      proto::GetValueResponse* response) override {
    if (const absl::Status status = Check(*context, request->key());
        !status.ok()) {
      grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
      reactor->Finish(ToGrpc(status));
      return reactor;
    }
    return GetCall::Begin(waits_, *request, response);
  }

 private:
  absl::Status Check(const grpc::CallbackServerContext& context,
                     const std::string& key) const {
    MW_RETURN_IF_ERROR(CheckToken(context, token_));
    MW_RETURN_IF_ERROR(CheckProtocol(context));
    if (!key.empty() && key.size() <= kMaxKeyBytes) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "a key of ", key.size(), " bytes; it has 1 to ", kMaxKeyBytes));
  }

  const std::string token_;
  const std::shared_ptr<ValueWaits> waits_;
  const std::shared_ptr<Joins> joins_;
  Periodic ticks_;  // Last: ends first.
};

}  // namespace

std::unique_ptr<WorkerService> WorkerService::Create(
    WorkerServerOptions options) {
  return std::make_unique<Service>(std::move(options));
}

}  // namespace meshwright
