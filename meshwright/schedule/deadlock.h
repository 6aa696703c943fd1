// Whether the rows of a timetable can all be worked off.
#ifndef MESHWRIGHT_SCHEDULE_DEADLOCK_H_
#define MESHWRIGHT_SCHEDULE_DEADLOCK_H_

#include "absl/status/status.h"
#include "meshwright/schedule/pipeline.h"
#include "meshwright/schedule/timetable.h"

namespace meshwright {

// kInvalidArgument with the circle of devices that wait for each other. The
// timetable is complete. Receives block until the value was sent, sends while
// `parked_sends` others on their link have not been received.
absl::Status CheckDeadlock(const Timetable& timetable,
                           const PipelineCosts& costs, int parked_sends);

}  // namespace meshwright

#endif  // MESHWRIGHT_SCHEDULE_DEADLOCK_H_
