// Timetables by name.
//
//   PipelineShape shape = {.stages = 4, .ranks = 4, .micro_batches = 12};
//   MW_ASSIGN_OR_RETURN(Timetable table,
//                       MakeTimetable(shape, ScheduleKind::k1F1B));
//
// Named schedules depend on the shape alone. docs/schedules.md draws each.
#ifndef MESHWRIGHT_SCHEDULE_GENERATE_H_
#define MESHWRIGHT_SCHEDULE_GENERATE_H_

#include "absl/status/statusor.h"
#include "meshwright/schedule/pipeline.h"
#include "meshwright/schedule/schedule_kind.h"
#include "meshwright/schedule/timetable.h"

namespace meshwright {

// Any of kNamedSchedules, without transfers. The number of stages and of
// micro-batches need not be a multiple of the ranks. kInvalidArgument if the
// schedule is impossible for this shape: 1f1b with several stages per rank,
// zero-bubble-v with other than two, a placement that is not the schedule's.
absl::StatusOr<Timetable> MakeTimetable(const PipelineShape& shape,
                                        ScheduleKind kind);

// Those of kNamedSchedules that are possible.
std::vector<ScheduleKind> PossibleSchedules(const PipelineShape& shape);

}  // namespace meshwright

#endif  // MESHWRIGHT_SCHEDULE_GENERATE_H_
