// Plans by experts' recipes (dp, zero3, megatron, ...), tried beside the
// search's own result.
//
// Every expert's strategies are among the options of the search, so none of
// them is better than the search's optimum in the sum of op and reshard costs
// that the search minimises. But once fusion, combined collectives and overlap
// are priced, an expert's program may still be faster.
#ifndef MESHWRIGHT_PLANNER_EXPERT_PLANS_H_
#define MESHWRIGHT_PLANNER_EXPERT_PLANS_H_

#include "meshwright/plan/plan.h"
#include "meshwright/planner/finish_whole.h"
#include "meshwright/planner/mesh_search.h"
#include "meshwright/planner/plan_log.h"
#include "meshwright/planner/variants.h"
#include "meshwright/planner/whole_search.h"
#include "meshwright/planner/write_plan.h"

namespace meshwright {

// Returns the plan chosen from what `whole` found or, where one is predicted to
// be faster, the plan that an expert's strategy gives for the same request.
// Experts whose meshes have one axis are planned as if the user had asked for
// them; those with more axes only in the settings (mesh, micro-batches,
// rematerialisation) where the unrestricted search is close to its best. For
// large steps every expert first gets a coarse candidate only, and is refined
// where that is about as good as the best. Does nothing if the request asks for
// an expert itself.
Plan UseExperts(const PlanTask& task, const MeshSearch& search,
                const WholeSearch& whole, const Variants& variants,
                Finished finished, PlanLog& log);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_EXPERT_PLANS_H_
