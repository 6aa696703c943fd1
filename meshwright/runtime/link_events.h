// Calls the events of a WorkerLink on one thread, in order.
//
// The caller provides the thread: Run() returns after the last event. Close()
// may be called from any thread, also within an event.
#ifndef MESHWRIGHT_RUNTIME_LINK_EVENTS_H_
#define MESHWRIGHT_RUNTIME_LINK_EVENTS_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "absl/status/statusor.h"
#include "meshwright/runtime/worker_link.h"

namespace meshwright {

// Thread-safe.
class LinkEvents {
 public:
  using NextReport = std::function<absl::StatusOr<proto::WorkerReport>()>;

  // Waits for Start(), then calls `report` with each result of `next`, and
  // `lost` with its error.
  void Run(const NextReport& next);
  void Start(WorkerLink::Events events);
  // No event is called after this.
  void Close();
  // Waits for an event in progress, unless called from it.
  void AwaitCall();

 private:
  // Calls `event` with the events; false if closed.
  bool Call(const std::function<void(WorkerLink::Events&)>& event);

  std::mutex mutex_;  // Guards the members below.
  std::condition_variable changed_;
  std::optional<WorkerLink::Events> events_;
  bool closed_ = false;
  bool calling_ = false;
  std::thread::id caller_;  // While calling.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_LINK_EVENTS_H_
