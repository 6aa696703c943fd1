// Plans with as many stages as were asked for, where memory is short.
#ifndef MESHWRIGHT_PLANNER_STAGES_THAT_FIT_H_
#define MESHWRIGHT_PLANNER_STAGES_THAT_FIT_H_

#include <functional>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/stage_plan.h"
#include "meshwright/planner/write_plan.h"

namespace meshwright {

// Told of every plan that was written.
using StagesWritten = std::function<void(const Plan&)>;

// Quickest first: written until none that is left is estimated to take less
// than the best that is written and fits, or a few more were. Else the one that
// needs least.
absl::StatusOr<Plan> FinishBestFirst(const PlanTask& task,
                                     const MeshSearch& search,
                                     double seconds_left,
                                     std::vector<StageCandidate>& staged,
                                     const StagesWritten& written);

// For a search that found nothing that fits: the leanest plan, if that does, or
// kResourceExhausted with a memory that would do.
absl::StatusOr<Plan> StagesThatFit(const PlanTask& task, double seconds_left);

// For a search over any number of stages that found nothing that fits: the
// fastest plan that does, of those that are best with as many stages as divide
// the devices, were there memory (a search counts more than programs take).
// kNotFound if none does.
absl::StatusOr<Plan> AnyStagesThatFit(const PlanTask& task,
                                      double seconds_left);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_STAGES_THAT_FIT_H_
