// Proves that a timetable can run.
//
//   device 1, cell 3 (1B0): its forward 1F0 comes later; row: 1F1 1F2 =>1B0 1F0
#ifndef MESHWRIGHT_SCHEDULE_VALIDATE_H_
#define MESHWRIGHT_SCHEDULE_VALIDATE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/schedule/pipeline.h"
#include "meshwright/schedule/timetable.h"

namespace meshwright {

struct ValidateOptions {
  // How many sends on a link (an ordered pair of devices) may wait for their
  // receives; one more blocks its sender.
  int parked_sends = 1;
};

// OK when the timetable is
//   complete: each stage runs each micro-batch's F once, and B or I and W once;
//   ordered: F before B or I, I before W; sends after what computes their
//     value, receives before what needs it, one pair for every edge of `costs`
//     between ranks (in a timetable that has transfers at all);
//   free of deadlock, even when receives block until their value was sent;
//   within `costs.memory_bytes`, counting what stages hold.
// Otherwise one line that says what is wrong and where: kInvalidArgument, or
// kResourceExhausted for memory. Cells are counted from 1, all else from 0.
absl::Status Validate(const Timetable& timetable, const PipelineCosts& costs,
                      const ValidateOptions& options = {});

// The most that the stages of each rank hold at once; depends on the order
// alone.
std::vector<int64_t> PeakHeldBytes(const Timetable& timetable,
                                   const PipelineCosts& costs);

}  // namespace meshwright

#endif  // MESHWRIGHT_SCHEDULE_VALIDATE_H_
