// What no timetable can beat.
#ifndef MESHWRIGHT_SCHEDULE_LOWER_BOUND_H_
#define MESHWRIGHT_SCHEDULE_LOWER_BOUND_H_

#include <vector>

#include "meshwright/schedule/pipeline.h"

namespace meshwright {

// Seconds that every timetable on this placement takes: a rank cannot begin
// before the first value reaches it, must do all its work, and what is behind
// the last gradient of a stage must follow. Costs fit (CheckCosts).
double StepLowerBound(const std::vector<int>& rank_of_stage, int ranks,
                      int micro_batches, const PipelineCosts& costs);

}  // namespace meshwright

#endif  // MESHWRIGHT_SCHEDULE_LOWER_BOUND_H_
