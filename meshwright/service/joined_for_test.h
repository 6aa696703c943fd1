// A coordinator's server, and the workers that have joined it.
#ifndef MESHWRIGHT_SERVICE_JOINED_FOR_TEST_H_
#define MESHWRIGHT_SERVICE_JOINED_FOR_TEST_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "meshwright/service/memory_store_for_test.h"
#include "meshwright/service/worker_client.h"
#include "meshwright/service/worker_server.h"

namespace meshwright {

// A queue that tests wait on.
template <typename T>
class Inbox {
 public:
  void Put(T value) {
    std::unique_lock lock(mutex_);
    values_.push_back(std::move(value));
    changed_.notify_all();
  }
  // A value that was made by default when nothing comes.
  T Take(std::chrono::seconds timeout = std::chrono::seconds(30)) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, timeout, [&] { return !values_.empty(); })) {
      return T();
    }
    T value = std::move(values_.front());
    values_.pop_front();
    return value;
  }
  size_t size() {
    std::unique_lock lock(mutex_);
    return values_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> values_;
};

struct CoordinatorForTest {
  explicit CoordinatorForTest(WorkerServerOptions options = {}) {
    options.store = &store;
    options.on_join = [this](std::unique_ptr<WorkerLink> link) {
      joined.Put(std::move(link));
    };
    auto started = WorkerServer::Start(std::move(options));
    status = started.status();
    if (started.ok()) server = *std::move(started);
  }
  std::string address() const {
    return absl::StrCat("127.0.0.1:", server->port());
  }
  absl::StatusOr<std::unique_ptr<CoordinatorLink>> Join(
      JoinCoordinatorOptions options = {}) const {
    options.address = address();
    return JoinCoordinator(std::move(options));
  }

  MemoryStoreForTest store;
  Inbox<std::unique_ptr<WorkerLink>> joined;
  absl::Status status;
  std::unique_ptr<WorkerServer> server;  // Ends first.
};

// What comes of a link.
struct EventsForTest {
  WorkerLink::Events Events() {
    return {
        .report = [this](proto::WorkerReport r) { reports.Put(std::move(r)); },
        .lost = [this](absl::Status s) { lost.Put(std::move(s)); }};
  }
  Inbox<proto::WorkerReport> reports;
  Inbox<absl::Status> lost;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SERVICE_JOINED_FOR_TEST_H_
