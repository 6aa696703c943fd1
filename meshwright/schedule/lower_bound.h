// A lower bound on the time of any timetable.
#ifndef MESHWRIGHT_SCHEDULE_LOWER_BOUND_H_
#define MESHWRIGHT_SCHEDULE_LOWER_BOUND_H_

#include <vector>

#include "meshwright/schedule/pipeline.h"

namespace meshwright {

// Seconds that every timetable with this placement takes at least: a rank
// cannot begin before the first value reaches it, must do all its work, and is
// followed by what comes after the last gradient of a stage, up to the end of
// the step. Requires: costs fit (CheckCosts).
double StepLowerBound(const std::vector<int>& rank_of_stage, int ranks,
                      int micro_batches, const PipelineCosts& costs);

}  // namespace meshwright

#endif  // MESHWRIGHT_SCHEDULE_LOWER_BOUND_H_
