#include "meshwright/runtime/renew_workers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace meshwright {
namespace {

// Time for a process to start, open its devices and join.
constexpr absl::Duration kPatience = absl::Seconds(90);

// Whether the process of a lost worker has joined again.
bool IsBack(const RemoteWorker& gone, const Team& now) {
  return std::ranges::any_of(now, [&](const auto& worker) {
    return worker->serial() > gone.serial() && worker->health().ok() &&
           worker->hello().pid() == gone.hello().pid() &&
           worker->hello().host() == gone.hello().host();
  });
}

}  // namespace

absl::StatusOr<bool> RenewWorkers(const Team& team, WorkerWatch& watch,
                                  const std::function<Team()>& workers) {
  TeamHistory::Members members;
  for (const auto& worker : team) members.push_back(worker->serial());
  Team stale;
  for (const auto& worker : team) {
    if (!worker->history().Allows(members)) stale.push_back(worker);
  }
  if (stale.empty()) {
    for (const auto& worker : team) worker->history().Add(members);
    return false;
  }
  for (const auto& worker : stale) {
    proto::WorkerCommand command;
    command.mutable_renew()->set_why("another team");
    // A lost worker is looked for below.
    worker->Post(std::move(command)).IgnoreError();
  }
  const absl::Status back = watch.Wait({}, kPatience, [&] {
    return std::ranges::all_of(
        stale, [&](const auto& worker) { return IsBack(*worker, workers()); });
  });
  if (back.ok()) return true;
  for (const auto& worker : stale) {
    if (IsBack(*worker, workers())) continue;
    return absl::UnavailableError(absl::StrCat(
        worker->name(), " was to begin anew, and has not joined again within ",
        absl::FormatDuration(kPatience)));
  }
  return true;
}

}  // namespace meshwright
