// The prices of a plan's reshards and collectives.
#ifndef MESHWRIGHT_PLANNER_PLAN_PRICES_H_
#define MESHWRIGHT_PLANNER_PLAN_PRICES_H_

#include <vector>

#include "meshwright/cost/rates.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/partition/forbidden.h"
#include "meshwright/plan/plan.h"

namespace meshwright {

// Prices by the rates, where forbidden collectives are prohibitively expensive.
Prices PlanPrices(const Rates& rates, const Cluster& cluster,
                  const std::vector<Forbidden>& forbidden, const Mesh& mesh);
// As recorded in the plan, on one of its meshes.
Prices PlanPrices(const Plan& plan, const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_PLAN_PRICES_H_
