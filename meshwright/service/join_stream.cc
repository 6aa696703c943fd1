#include "meshwright/service/join_stream.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/steady_time.h"
#include "meshwright/base/version.h"
#include "meshwright/runtime/link_events.h"
#include "meshwright/service/grpc_status.h"
#include "meshwright/service/hello.h"
#include "meshwright/service/limits.h"
#include "meshwright/service/message_stream.h"
#include "meshwright/service/metadata.h"

namespace meshwright {
namespace {}  // namespace

// A call of Join. Kept by the Joins until gRPC is done with it, and by the
// link.
class JoinStream final
    : public grpc::ServerBidiReactor<proto::WorkerReport, proto::WorkerCommand>,
      public MessageStream<proto::WorkerReport, proto::WorkerCommand>,
      public std::enable_shared_from_this<JoinStream> {
 public:
  JoinStream(std::shared_ptr<Joins> joins, grpc::CallbackServerContext* context)
      : joins_(std::move(joins)),
        context_(context),
        deadline_(SteadyNow() + joins_->options_.hello_timeout) {}

  void Begin() {
    const absl::Status allowed = CheckToken(*context_, joins_->options_.token);
    if (!allowed.ok()) return Refuse(allowed);
    StartRead(&first_);
  }

  const proto::Hello& hello() const { return first_.hello(); }
  LinkEvents& events() { return events_; }

  // The link is being destroyed.
  void CloseLink() {
    events_.Close();
    SetDeadline(kCloseTimeout);
    Close();
    events_.AwaitCall();
  }

  void Tick(absl::Time now) {
    std::unique_lock lock(mutex_);
    if (now < deadline_ || done_) return;
    deadline_ = absl::InfiniteFuture();
    if (accepted_) return context_->TryCancel();
    lock.unlock();
    Refuse(absl::DeadlineExceededError("no hello came in time"));
  }

  // What gRPC says.
  void OnReadDone(bool ok) override {
    // Set by the first read, before the next is begun.
    if (accepted_) {
      if (!ok) SetDeadline(kCloseTimeout);
      return OnRead(ok);
    }
    if (!ok || !first_.has_hello()) {
      return Refuse(absl::InvalidArgumentError(
          "the first report of a worker must be its hello"));
    }
    if (const absl::Status good = CheckHello(hello()); !good.ok()) {
      return Refuse(good);
    }
    Welcome();
  }
  void OnWriteDone(bool ok) override { OnWritten(ok); }
  void OnCancel() override {
    bool accepted = false;
    {
      std::unique_lock lock(mutex_);
      cancelled_ = true;
      accepted = accepted_;
    }
    if (accepted) return StopReading();
    Refuse(absl::CancelledError("the worker is gone"));
  }
  void OnDone() override {
    const std::shared_ptr<JoinStream> self = shared_from_this();
    bool cancelled = false;
    {
      std::unique_lock lock(mutex_);
      done_ = true;
      cancelled = cancelled_;
    }
    End(absl::UnavailableError(
        cancelled ? absl::StrCat("lost the connection to ", WorkerName(hello()))
                  : absl::StrCat(WorkerName(hello()), " left")));
    joins_->Remove(self);
  }

 private:
  void BeginRead(proto::WorkerReport* into) override { StartRead(into); }
  void BeginWrite(const proto::WorkerCommand* command) override {
    StartWrite(command);
  }
  bool WritesOver() override {
    FinishOnce(absl::OkStatus());
    return false;  // Nothing may be begun after Finish.
  }
  void StreamOver() override { FinishOnce(absl::OkStatus()); }

  void Refuse(const absl::Status& why) { FinishOnce(why); }

  void FinishOnce(const absl::Status& status) {
    std::unique_lock lock(mutex_);
    if (std::exchange(finished_, true)) return;
    Finish(ToGrpc(status));
  }

  void SetDeadline(absl::Duration timeout) {
    std::unique_lock lock(mutex_);
    deadline_ = SteadyNow() + timeout;
  }

  // Makes a link of the stream.
  void Welcome() {
    {
      std::unique_lock lock(mutex_);
      if (finished_) return;
      accepted_ = true;
      deadline_ = absl::InfiniteFuture();
      context_->AddInitialMetadata(kVersionKey, std::string(Version()));
      StartSendInitialMetadata();
    }
    Open();
    std::thread([stream = shared_from_this()] { Serve(stream); }).detach();
  }

  static void Serve(const std::shared_ptr<JoinStream>& stream);

  const std::shared_ptr<Joins> joins_;
  grpc::CallbackServerContext* const context_;  // Until done.
  LinkEvents events_;
  proto::WorkerReport first_;

  std::mutex mutex_;  // Guards the rest. Taken after the MessageStream's.
  absl::Time deadline_;
  std::atomic<bool> accepted_ = false;
  bool cancelled_ = false;
  bool finished_ = false;
  bool done_ = false;
};

namespace {

class StreamLink final : public WorkerLink {
 public:
  explicit StreamLink(std::shared_ptr<JoinStream> stream)
      : stream_(std::move(stream)) {}
  ~StreamLink() override { stream_->CloseLink(); }

  const proto::Hello& hello() const override { return stream_->hello(); }
  absl::Status Send(proto::WorkerCommand command) override {
    const bool urgent = IsUrgent(command);
    return stream_->Send(std::move(command), urgent);
  }
  void Start(Events events) override {
    stream_->events().Start(std::move(events));
  }

 private:
  const std::shared_ptr<JoinStream> stream_;
};

}  // namespace

void JoinStream::Serve(const std::shared_ptr<JoinStream>& stream) {
  stream->joins_->OnJoin(std::make_unique<StreamLink>(stream));
  stream->events_.Run([&] { return stream->Receive(); });
}

grpc::ServerBidiReactor<proto::WorkerReport, proto::WorkerCommand>*
Joins::Accept(grpc::CallbackServerContext* context) {
  auto stream = std::make_shared<JoinStream>(shared_from_this(), context);
  {
    std::unique_lock lock(mutex_);
    streams_.insert(stream);
  }
  stream->Begin();
  return stream.get();
}

void Joins::Tick() {
  std::vector<std::shared_ptr<JoinStream>> streams;
  {
    std::unique_lock lock(mutex_);
    streams.assign(streams_.begin(), streams_.end());
  }
  const absl::Time now = SteadyNow();
  for (const auto& stream : streams) stream->Tick(now);
}

void Joins::Stop() {
  std::unique_lock lock(mutex_);
  stopped_ = true;
  changed_.wait(lock, [&] { return joining_ == 0; });
}

void Joins::OnJoin(std::unique_ptr<WorkerLink> link) {
  {
    std::unique_lock lock(mutex_);
    if (stopped_) return;
    ++joining_;
  }
  options_.on_join(std::move(link));
  std::unique_lock lock(mutex_);
  --joining_;
  changed_.notify_all();
}

void Joins::Remove(const std::shared_ptr<JoinStream>& stream) {
  std::unique_lock lock(mutex_);
  streams_.erase(stream);
}

}  // namespace meshwright
