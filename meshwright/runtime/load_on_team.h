// Loads a job on workers.
#ifndef MESHWRIGHT_RUNTIME_LOAD_ON_TEAM_H_
#define MESHWRIGHT_RUNTIME_LOAD_ON_TEAM_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/runtime/job.h"
#include "meshwright/runtime/worker_watch.h"

namespace meshwright {

struct JobNumber {
  int64_t id = 0;
  // The job that it is loaded beside, on the same workers; 0: none.
  int64_t beside = 0;
  int64_t calls = 0;  // WritePrograms.
};

// Sends a placed job to its workers, and waits until they have compiled it.
// Returns the seconds that took. Errors name the worker; after one, nothing is
// left of a job beside another, while UnloadFromTeam is to be called for
// others. `aborted` is looked at while it waits; null: never.
absl::StatusOr<double> LoadOnTeam(
    const JobSource& source, JobNumber number, const Team& team,
    WorkerWatch& watch, const std::function<absl::Status()>& aborted = nullptr);

// Returns at once. Jobs beside it stay.
void UnloadFromTeam(JobNumber number, const Team& team);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_LOAD_ON_TEAM_H_
