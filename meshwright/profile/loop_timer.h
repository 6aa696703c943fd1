// Times what a loop program does in one turn, on several devices at once.
#ifndef MESHWRIGHT_PROFILE_LOOP_TIMER_H_
#define MESHWRIGHT_PROFILE_LOOP_TIMER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "meshwright/engine/client.h"
#include "meshwright/profile/loop_program.h"

namespace meshwright {

struct LoopTimerOptions {
  int64_t devices = 1;    // The first of the client's.
  double seconds = 0.25;  // To spend, compilation aside.
  // Above 0: count the processor time of this process, over so many cores,
  // instead of the time of day. For a machine that others use at the same time.
  int64_t cpu_time_of_cores = 0;
};

// Seconds per repeat, all devices doing it at the same time. The fastest of
// several runs: whatever else a machine does only makes it slower.
absl::StatusOr<double> TimeLoop(const LoopProgram& loop, Client& client,
                                const LoopTimerOptions& options);

// Seconds of one run with one turn.
absl::StatusOr<double> TimeRun(const LoopProgram& loop, Client& client,
                               const LoopTimerOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_LOOP_TIMER_H_
