// Rows that a step sorts over its whole batch, as mixtures of experts without a
// capacity do: devices may each sort their own (microbatch/sort_in_blocks.h).
#ifndef MESHWRIGHT_PLANNER_SORTED_ROWS_H_
#define MESHWRIGHT_PLANNER_SORTED_ROWS_H_

#include "absl/status/statusor.h"
#include "meshwright/planner/plan_task.h"
#include "meshwright/planner/planner.h"

namespace meshwright {

// As FindPlan, with rows sorted in as many blocks as the plan has devices among
// which sorting is split. Where it is split among fewer than all, that takes a
// second search.
absl::StatusOr<PlanChoice> FindPlanSortingInBlocks(const Module& module,
                                                   const Cluster& cluster,
                                                   const Rates& rates,
                                                   const PlanRequest& request,
                                                   const SearchMode& mode,
                                                   const SearchPolicy& policy);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_SORTED_ROWS_H_
