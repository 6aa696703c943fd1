#include "meshwright/service/remote_store.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/steady_time.h"
#include "meshwright/service/channel.h"
#include "meshwright/service/grpc_status.h"
#include "proto/worker.grpc.pb.h"

namespace meshwright {
namespace {

// A call waits so long at most, then the next one does.
constexpr absl::Duration kSlice = absl::Seconds(5);
// For a call's way there and back.
constexpr absl::Duration kGrace = absl::Seconds(20);

class Store final : public RemoteStore {
 public:
  Store(std::string address, Security security,
        std::shared_ptr<grpc::Channel> channel)
      : address_(std::move(address)),
        security_(std::move(security)),
        stub_(proto::Workers::NewStub(channel)) {}

  absl::Status Set(const std::string& key, std::string value) override {
    proto::SetValueRequest request;
    request.set_key(key);
    request.set_value(std::move(value));
    return Call(absl::ZeroDuration(), [&](grpc::ClientContext* context) {
      proto::SetValueResponse response;
      return stub_->SetValue(context, request, &response);
    });
  }

  absl::StatusOr<std::string> Get(const std::string& key,
                                  absl::Duration timeout) override {
    const absl::Time until = SteadyNow() + timeout;
    while (true) {
      const absl::Duration left =
          std::clamp(until - SteadyNow(), absl::ZeroDuration(), kSlice);
      proto::GetValueRequest request;
      request.set_key(key);
      request.set_timeout_ms(absl::ToInt64Milliseconds(left));
      proto::GetValueResponse response;
      const absl::Status status = Call(left, [&](grpc::ClientContext* context) {
        return stub_->GetValue(context, request, &response);
      });
      if (status.ok()) return std::move(*response.mutable_value());
      if (status.code() != absl::StatusCode::kDeadlineExceeded) return status;
      if (SteadyNow() >= until) {
        return absl::DeadlineExceededError(absl::StrCat(
            "nobody set ", key, " within ", absl::FormatDuration(timeout)));
      }
    }
  }

  void Close() override {
    std::unique_lock lock(mutex_);
    closed_ = true;
    for (grpc::ClientContext* call : calls_) call->TryCancel();
  }

 private:
  template <typename Rpc>
  absl::Status Call(absl::Duration waits, const Rpc& rpc) {
    grpc::ClientContext context;
    AddCredentials(security_, context);
    context.set_deadline(absl::ToChronoTime(absl::Now() + waits + kGrace));
    {
      std::unique_lock lock(mutex_);
      if (closed_) return absl::CancelledError("the link is closed");
      calls_.insert(&context);
    }
    const absl::Status status = FromGrpc(rpc(&context));
    {
      std::unique_lock lock(mutex_);
      calls_.erase(&context);
    }
    if (status.code() == absl::StatusCode::kUnavailable) {
      return absl::UnavailableError(
          absl::StrCat("lost the coordinator at ", address_));
    }
    return status;
  }

  const std::string address_;
  const Security security_;
  const std::unique_ptr<proto::Workers::Stub> stub_;
  std::mutex mutex_;  // Guards the rest.
  std::set<grpc::ClientContext*> calls_;
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<RemoteStore> RemoteStore::Create(
    std::string address, Security security,
    std::shared_ptr<grpc::Channel> channel) {
  return std::make_unique<Store>(std::move(address), std::move(security),
                                 std::move(channel));
}

}  // namespace meshwright
