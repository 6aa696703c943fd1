// A timetable optimised for given durations, within a memory limit.
//
//   MW_ASSIGN_OR_RETURN(AutoTimetable best, MakeAutoTimetable(shape, costs));
//   best.step_seconds;   // at most that of any named schedule that fits
//   best.lower_bound;    // no timetable on this placement takes less
#ifndef MESHWRIGHT_SCHEDULE_GENERATE_AUTO_H_
#define MESHWRIGHT_SCHEDULE_GENERATE_AUTO_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "meshwright/schedule/pipeline.h"
#include "meshwright/schedule/schedule_kind.h"
#include "meshwright/schedule/timetable.h"

namespace meshwright {

struct AutoOptions {
  bool split_backward = true;  // I and W may be separated.
  // Limit on simulated actions over everything that is tried; two to three
  // million take a second.
  int64_t work_limit = 3'000'000;
  // Among timetables slower than the fastest by at most this part, but no
  // slower than any named schedule, the one with the least memory is taken.
  double slack = 0.005;
};

struct AutoTimetable {
  Timetable timetable;
  double step_seconds = 0;
  double lower_bound = 0;
  // The named schedule, or kAuto if it was made here.
  ScheduleKind origin = ScheduleKind::kAuto;
};

// Starts from the named schedules that are possible and fit
// `costs.memory_bytes`, and improves on them with list schedules
// (list_schedule.h) under different rules. If the shape places no stages, both
// placements are tried. kResourceExhausted, with what is needed, if nothing
// fits.
absl::StatusOr<AutoTimetable> MakeAutoTimetable(
    const PipelineShape& shape, const PipelineCosts& costs,
    const AutoOptions& options = {});

// By name, kAuto included.
absl::StatusOr<Timetable> MakeTimetable(const PipelineShape& shape,
                                        ScheduleKind kind,
                                        const PipelineCosts& costs);

}  // namespace meshwright

#endif  // MESHWRIGHT_SCHEDULE_GENERATE_AUTO_H_
