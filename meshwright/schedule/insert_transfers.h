// Adds sends and receives to a compute-only timetable.
//
//   0F0  0F1  0B0  0B1          0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 ...
//   1F0  1B0  1F1  1B1   ->     1RECV_F0 1F0 1RECV_F1 1B0 1SEND_B0 1F1 ...
#ifndef MESHWRIGHT_SCHEDULE_INSERT_TRANSFERS_H_
#define MESHWRIGHT_SCHEDULE_INSERT_TRANSFERS_H_

#include "absl/status/statusor.h"
#include "meshwright/schedule/pipeline.h"
#include "meshwright/schedule/timetable.h"

namespace meshwright {

// A send follows the action that computes its value; the receive is placed in
// the other row before the action that the rank runs at that time, so that a
// value never waits to be received. All rows list their transfers in one common
// order, so that they cannot deadlock, even if a send blocks until it is
// received. Stages on one rank pass values directly. Times come from `costs`.
// Fails as Validate() does; existing transfers are kept.
absl::StatusOr<Timetable> InsertTransfers(const Timetable& timetable,
                                          const PipelineCosts& costs);

}  // namespace meshwright

#endif  // MESHWRIGHT_SCHEDULE_INSERT_TRANSFERS_H_
