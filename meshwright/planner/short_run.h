// What planning is worth for a run of known length (`--steps`): a search that
// takes longer than it may save in the run is not made, or ends earlier.
//
//   1000 steps of 30 ms, a plan within 1 % of its bound: at most 0.3 s of the
//   run can be saved by proving more, so 0.3 s of solver work go into it
//
// Nothing here reads a clock: seconds of planning are taken to be so many for
// an op or a cell of the problem (SearchPolicy), so that a step has the same
// plan however busy the machine is. Without a known length everything is
// worth it, and when an expert's strategy is asked for, too.
#ifndef MESHWRIGHT_PLANNER_SHORT_RUN_H_
#define MESHWRIGHT_PLANNER_SHORT_RUN_H_

#include <cstdint>

#include "meshwright/planner/plan_candidate.h"
#include "meshwright/planner/plan_task.h"

namespace meshwright {

// Whether looking at strategies of another kind (experts', a third mesh axis,
// pipelines) may save more than it takes. `step_seconds`: of the plan so far,
// a plan of `variant`.
bool MayRepay(const PlanTask& task, const StepVariant& variant,
              double step_seconds);

// At most `work` (SolveOptions::work_limit) for `found`: no more than closing
// its gap could save.
int64_t WorkThatRepays(const PlanTask& task, const PlanCandidate& found,
                       int64_t work);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_SHORT_RUN_H_
