#include "meshwright/api/line_watchers.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"

namespace meshwright {
namespace {

constexpr std::chrono::milliseconds kLineLook(50);

}  // namespace

void LineWatchers::Send(int64_t job, const std::string& line) {
  {
    const std::lock_guard lock(mutex_);
    for (const std::shared_ptr<Watcher>& one : watchers_) {
      if (one->job != 0 && one->job != job) continue;
      if (one->lines.size() >= kMaxLines) {
        one->lines.pop_front();
        ++one->dropped;
      }
      one->lines.push_back(line);
    }
  }
  changed_.notify_all();
}

absl::Status LineWatchers::Watch(int64_t job, const JobService::LineSink& sink,
                                 const JobCall& call,
                                 const std::function<bool()>& is_over) {
  const auto watcher = std::make_shared<Watcher>(Watcher{.job = job});
  std::unique_lock lock(mutex_);
  watchers_.push_back(watcher);
  absl::Status status;
  while (status.ok()) {
    lock.unlock();
    const bool is_last = is_over();
    if (call.cancelled()) status = absl::CancelledError("the client has gone");
    lock.lock();
    if (!is_last) {
      changed_.wait_for(lock, kLineLook,
                        [&] { return !watcher->lines.empty(); });
    }
    std::deque<std::string> lines = std::exchange(watcher->lines, {});
    if (const int64_t dropped = std::exchange(watcher->dropped, 0)) {
      lines.push_front(
          absl::StrCat("{\"job\":", job, ",\"dropped\":", dropped, "}"));
    }
    lock.unlock();
    for (const std::string& line : lines) {
      if (status.ok()) status = sink(line);
    }
    lock.lock();
    if (is_last) break;
  }
  std::erase(watchers_, watcher);
  return status;
}

}  // namespace meshwright
