// Deadlock detection for timetables.
#ifndef MESHWRIGHT_SCHEDULE_DEADLOCK_H_
#define MESHWRIGHT_SCHEDULE_DEADLOCK_H_

#include "absl/status/status.h"
#include "meshwright/schedule/pipeline.h"
#include "meshwright/schedule/timetable.h"

namespace meshwright {

// kInvalidArgument with the cycle of devices that wait for each other.
// Requires: the timetable is complete. Receives block until the value was sent;
// a send blocks while `parked_sends` others on its link have not been received.
absl::Status CheckDeadlock(const Timetable& timetable,
                           const PipelineCosts& costs, int parked_sends);

}  // namespace meshwright

#endif  // MESHWRIGHT_SCHEDULE_DEADLOCK_H_
