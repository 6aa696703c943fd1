// Measures the time of an iteration of a loop program, on several devices
// concurrently.
//
//   MW_ASSIGN_OR_RETURN(LoopTimer timer, LoopTimer::Create(loop, client, {}));
//   while (...) MW_RETURN_IF_ERROR(timer.Measure(/*seconds=*/0.05));
//   timer.seconds();
//
// The fastest run counts, since any other load only makes runs slower. Such
// load may last for a while, so measure again later, after other programs.
#ifndef MESHWRIGHT_PROFILE_LOOP_TIMER_H_
#define MESHWRIGHT_PROFILE_LOOP_TIMER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/engine/client.h"
#include "meshwright/profile/loop_program.h"

namespace meshwright {

struct LoopTimerOptions {
  int64_t devices = 1;  // The first of the client's, all at the same time.
  // If positive: count the processor time of this process, over this many
  // cores, instead of wall time. For a machine that is shared.
  int64_t cpu_time_of_cores = 0;
};

class LoopTimer {
 public:
  // Compiles and warms up. The client must outlive the timer.
  static absl::StatusOr<LoopTimer> Create(const LoopProgram& loop,
                                          Client& client,
                                          const LoopTimerOptions& options);

  // Runs for about this long, at least once.
  absl::Status Measure(double seconds);

  // Of one repeat. Requires: Measure was called.
  double seconds() const;
  double repeats() const { return repeats_; }  // In a turn.
  // Of a run with one iteration.
  double run_seconds() const { return once_; }

 private:
  LoopTimer(Client& client, const LoopTimerOptions& options, double repeats)
      : client_(&client), options_(options), repeats_(repeats) {}

  absl::StatusOr<double> Run(int32_t turns);

  Client* client_;
  LoopTimerOptions options_;
  double repeats_;
  std::unique_ptr<Executable> executable_;
  std::vector<std::vector<BufferPtr>> arrays_;  // By device.
  int32_t turns_ = 0;  // Iterations of long runs; 0 until known.
  double once_ = 0;    // The fastest with one iteration, and with turns_.
  double many_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_LOOP_TIMER_H_
