#include "meshwright/runtime/memory_link.h"

#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/runtime/link_events.h"
#include "meshwright/runtime/message_queue.h"

namespace meshwright {
namespace {

constexpr int64_t kMaxQueuedBytes = int64_t{8} << 20;

struct Queues {
  MessageQueue<proto::WorkerCommand> commands{kMaxQueuedBytes};
  MessageQueue<proto::WorkerReport> reports{kMaxQueuedBytes};
};

class CoordinatorEnd : public WorkerLink {
 public:
  CoordinatorEnd(proto::Hello hello, std::shared_ptr<Queues> queues)
      : hello_(std::move(hello)),
        queues_(std::move(queues)),
        events_(std::make_shared<LinkEvents>()) {
    // Captures what it needs: an event may destroy the link.
    thread_ = std::thread([link = queues_, events = events_] {
      events->Run([&] { return link->reports.Pop(); });
    });
  }

  ~CoordinatorEnd() override {
    events_->Close();
    queues_->commands.Close(
        absl::UnavailableError("the coordinator ended the connection"));
    queues_->reports.Close(absl::CancelledError("the link is closed"));
    queues_->reports.Clear();
    events_->AwaitCall();
    if (thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }

  const proto::Hello& hello() const override { return hello_; }

  absl::Status Send(proto::WorkerCommand command) override {
    const bool urgent = IsUrgent(command);
    return urgent ? queues_->commands.PushNow(std::move(command))
                  : queues_->commands.Push(std::move(command));
  }

  void Start(Events events) override { events_->Start(std::move(events)); }

 private:
  const proto::Hello hello_;
  const std::shared_ptr<Queues> queues_;
  const std::shared_ptr<LinkEvents> events_;
  std::thread thread_;
};

class WorkerEnd : public CoordinatorLink {
 public:
  WorkerEnd(std::string name, std::shared_ptr<Queues> queues,
            KeyValueStore* store)
      : name_(std::move(name)), queues_(std::move(queues)), store_(store) {}

  ~WorkerEnd() override {
    const absl::Status left =
        absl::UnavailableError(absl::StrCat(name_, " left"));
    queues_->reports.Close(left);
    queues_->commands.Close(left);
    queues_->commands.Clear();
  }

  absl::StatusOr<proto::WorkerCommand> Next() override {
    return queues_->commands.Pop();
  }
  absl::Status Send(proto::WorkerReport report) override {
    return queues_->reports.Push(std::move(report));
  }
  KeyValueStore& store() override { return *store_; }

 private:
  const std::string name_;
  const std::shared_ptr<Queues> queues_;
  KeyValueStore* const store_;
};

}  // namespace

MemoryLink MakeMemoryLink(proto::Hello hello, KeyValueStore* store) {
  auto queues = std::make_shared<Queues>();
  const std::string name =
      absl::StrCat(hello.host(), " (pid ", hello.pid(), ")");
  MemoryLink link;
  link.coordinator = std::make_unique<WorkerEnd>(name, queues, store);
  link.worker = std::make_unique<CoordinatorEnd>(std::move(hello), queues);
  return link;
}

}  // namespace meshwright
