// Calls a WorkerLink's events on one thread, in order.
//
// The thread is the caller's: Run() returns when the last event has been
// called. Close() may come from any thread, also from inside an event.
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

  // Waits for Start(), then calls `report` with what `next` returns, and `lost`
  // with its error.
  void Run(const NextReport& next);
  void Start(WorkerLink::Events events);
  // No event is called from now on.
  void Close();
  // Waits for the event that is under way, unless this is it.
  void AwaitCall();

 private:
  // Calls `event` with the events, unless closed; false then.
  bool Call(const std::function<void(WorkerLink::Events&)>& event);

  std::mutex mutex_;  // Guards the rest.
  std::condition_variable changed_;
  std::optional<WorkerLink::Events> events_;
  bool closed_ = false;
  bool calling_ = false;
  std::thread::id caller_;  // While calling.
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_LINK_EVENTS_H_
