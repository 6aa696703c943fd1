#include "meshwright/runtime/link_events.h"

#include <utility>

#include "meshwright/base/check.h"

namespace meshwright {

void LinkEvents::Run(const NextReport& next) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || events_.has_value(); });
  }
  while (true) {
    absl::StatusOr<proto::WorkerReport> report = next();
    const bool open = Call([&](WorkerLink::Events& events) {
      if (report.ok()) {
        events.report(*std::move(report));
      } else {
        events.lost(report.status());
      }
    });
    if (!open || !report.ok()) return;
  }
}

void LinkEvents::Start(WorkerLink::Events events) {
  std::unique_lock lock(mutex_);
  MW_CHECK(!events_.has_value()) << "a link is started once";
  events_ = std::move(events);
  changed_.notify_all();
}

void LinkEvents::Close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void LinkEvents::AwaitCall() {
  std::unique_lock lock(mutex_);
  changed_.wait(
      lock, [&] { return !calling_ || caller_ == std::this_thread::get_id(); });
}

bool LinkEvents::Call(const std::function<void(WorkerLink::Events&)>& event) {
  {
    std::unique_lock lock(mutex_);
    if (closed_) return false;
    calling_ = true;
    caller_ = std::this_thread::get_id();
  }
  event(*events_);  // Set before the thread starts, and never changed again.
  std::unique_lock lock(mutex_);
  calling_ = false;
  changed_.notify_all();
  return !closed_;
}

}  // namespace meshwright
