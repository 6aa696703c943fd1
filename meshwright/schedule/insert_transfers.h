// Sends and receives for a compute-only timetable.
//
//   0F0  0F1  0B0  0B1          0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 ...
//   1F0  1B0  1F1  1B1   ->     1RECV_F0 1F0 1RECV_F1 1B0 1SEND_B0 1F1 ...
#ifndef MESHWRIGHT_SCHEDULE_INSERT_TRANSFERS_H_
#define MESHWRIGHT_SCHEDULE_INSERT_TRANSFERS_H_

#include "absl/status/statusor.h"
#include "meshwright/schedule/pipeline.h"
#include "meshwright/schedule/timetable.h"

namespace meshwright {

// A send follows what makes its value; its receive stands in the other row
// before what that rank does at the time, so that a value never waits to be
// fetched. All rows list their transfers in one common order: they cannot
// deadlock, even where a send blocks until it is received. Stages on one rank
// hand over directly. Times come from `costs`.
// Fails as Validate() does; transfers that are there already stay.
absl::StatusOr<Timetable> InsertTransfers(const Timetable& timetable,
                                          const PipelineCosts& costs);

}  // namespace meshwright

#endif  // MESHWRIGHT_SCHEDULE_INSERT_TRANSFERS_H_
