// What experts would do, beside what the search found.
//
// No expert's strategy is missing among the search's options, so none is better
// in the sum of ops and moves that it minimises. But fused, combined and
// overlapped as it will run, an expert's program may be quicker.
#ifndef MESHWRIGHT_PLANNER_EXPERT_PLANS_H_
#define MESHWRIGHT_PLANNER_EXPERT_PLANS_H_

#include <map>

#include "meshwright/plan/plan.h"
#include "meshwright/planner/cut_step.h"
#include "meshwright/planner/finish_whole.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/plan_log.h"
#include "meshwright/planner/whole_search.h"
#include "meshwright/planner/write_plan.h"

namespace meshwright {

// The plan that was chosen of what `whole` has found, or the plan that some
// expert's strategy would have given for the same request, where that is
// predicted to be quicker. Experts of one axis are planned as if asked for;
// those of more in the settings in which the search, which may do more, is not
// far behind its best. Of large steps all are only sketched, where it is about
// as good. Nothing is done for requests that are for an expert themselves.
Plan UseExperts(const PlanTask& task, const MeshSearch& search,
                const WholeSearch& whole, const std::map<Recompute, Cuts>& cuts,
                Finished finished, PlanLog& log);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_EXPERT_PLANS_H_
