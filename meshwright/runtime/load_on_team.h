// Loads a job on workers.
#ifndef MESHWRIGHT_RUNTIME_LOAD_ON_TEAM_H_
#define MESHWRIGHT_RUNTIME_LOAD_ON_TEAM_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "meshwright/runtime/job.h"
#include "meshwright/runtime/worker_watch.h"

namespace meshwright {

struct JobNumber {
  int64_t id = 0;
  // Loaded beside the main job, to compute its initial state.
  bool is_init = false;
};

// Sends a placed job to its workers, and waits until they have compiled it.
// Returns the seconds that took. Errors name the worker.
absl::StatusOr<double> LoadOnTeam(const JobSource& source, JobNumber number,
                                  const Team& team, WorkerWatch& watch);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_LOAD_ON_TEAM_H_
