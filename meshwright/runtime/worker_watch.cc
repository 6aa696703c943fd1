#include "meshwright/runtime/worker_watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/steady_time.h"

namespace meshwright {

void WorkerWatch::Notify() {
  {
    const std::lock_guard lock(mutex_);
    ++changes_;
  }
  changed_.notify_all();
}

absl::Status WorkerWatch::FindLost(const Team& team) const {
  for (const std::shared_ptr<RemoteWorker>& worker : team) {
    const absl::Status health = worker->health();
    if (health.ok()) continue;
    std::string how =
        obituary_ != nullptr ? obituary_(worker->hello()) : std::string();
    if (how.empty()) how = absl::StrCat("is gone: ", health.message());
    return absl::UnavailableError(absl::StrCat(worker->name(), " ", how));
  }
  return absl::OkStatus();
}

absl::Status WorkerWatch::Wait(const Team& team, absl::Duration limit,
                               const std::function<bool()>& done) {
  const absl::Time deadline = SteadyNow() + limit;
  while (true) {
    uint64_t seen = 0;
    {
      const std::lock_guard lock(mutex_);
      seen = changes_;
    }
    // The last report counts, even if the worker left right after it.
    if (done()) return absl::OkStatus();
    for (const std::shared_ptr<RemoteWorker>& worker : team) {
      if (worker->health().ok() && worker->IsSilentFor(limits_.silence)) {
        worker->Lose(absl::UnavailableError(
            absl::StrCat("it has said nothing for ",
                         absl::FormatDuration(limits_.silence))));
      }
      if (!worker->health().ok()) return FindLost(team);
    }
    const absl::Duration left = deadline - SteadyNow();
    if (left <= absl::ZeroDuration()) {
      return absl::DeadlineExceededError(
          absl::StrCat("no answer within ", absl::FormatDuration(limit)));
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock,
                      absl::ToChronoMilliseconds(std::min(
                          left + absl::Milliseconds(1), absl::Seconds(1))),
                      [&] { return changes_ != seen; });
  }
}

std::string LastActions(const Team& team) {
  std::string text;
  for (const std::shared_ptr<RemoteWorker>& worker : team) {
    const std::vector<std::string> actions = worker->last_actions();
    absl::StrAppend(
        &text, "  ", worker->name(), ": ",
        actions.empty() ? "nothing yet" : absl::StrJoin(actions, "; "), "\n");
  }
  return text;
}

}  // namespace meshwright
