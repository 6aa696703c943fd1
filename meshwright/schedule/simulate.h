// Simulates a timetable: when every action runs, bubbles, bytes over time.
//
//   MW_ASSIGN_OR_RETURN(Simulation run, Simulate(timetable, costs));
//   run.step_seconds;    // 45 for 1f1b, 4 stages, 12 micro-batches, F=I=W=1
//   run.bubble_share;    // 0.2
#ifndef MESHWRIGHT_SCHEDULE_SIMULATE_H_
#define MESHWRIGHT_SCHEDULE_SIMULATE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/schedule/pipeline.h"
#include "meshwright/schedule/timetable.h"

namespace meshwright {

struct TimedAction {
  Action action;
  double begin = 0;
  double end = 0;
};

struct TimedTransfer {
  Action send;
  int from_rank = 0;
  int to_rank = 0;
  double begin = 0;
  double end = 0;
  int64_t bytes = 0;
};

struct MemoryPoint {
  double seconds = 0;
  int64_t bytes = 0;  // From this time on.
};

struct Simulation {
  double step_seconds = 0;
  double bubble_share = 0;           // Of the total time of all ranks.
  std::vector<double> busy_seconds;  // By rank, like the following members.
  std::vector<int64_t> peak_bytes;
  std::vector<std::vector<TimedAction>> rows;  // Compute and apply actions.
  std::vector<std::vector<MemoryPoint>> memory;
  std::vector<TimedTransfer> transfers;  // In the order in which they begin.
};

// Ranks run their rows in order and wait for what an action needs; sends and
// receives, if the timetable has them, are posted when their turn comes and
// never block. Held bytes are what stages hold (StageCost), and values that
// wait to be sent or, once received, to be used. If the timetable cannot
// finish, the error of Validate().
absl::StatusOr<Simulation> Simulate(const Timetable& timetable,
                                    const PipelineCosts& costs);

// The same for a timetable and costs that are known to be valid. Without
// `record` only totals: no rows, transfers or memory over time.
Simulation SimulateValid(const Timetable& timetable, const PipelineCosts& costs,
                         bool record);

}  // namespace meshwright

#endif  // MESHWRIGHT_SCHEDULE_SIMULATE_H_
