// Restarts workers whose processes cannot be in a team.
#ifndef MESHWRIGHT_RUNTIME_RENEW_WORKERS_H_
#define MESHWRIGHT_RUNTIME_RENEW_WORKERS_H_

#include <functional>

#include "absl/status/statusor.h"
#include "meshwright/runtime/worker_watch.h"

namespace meshwright {

// Tells those of the team whose history (team_history.h) does not allow it to
// restart, and waits until they have joined again; `workers` lists all. False
// if there were none: then the team is in the history of all of them.
// kUnavailable, naming it, if one does not come back.
absl::StatusOr<bool> RenewWorkers(const Team& team, WorkerWatch& watch,
                                  const std::function<Team()>& workers);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_RENEW_WORKERS_H_
