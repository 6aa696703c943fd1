#include "meshwright/planner/plan_prices.h"

#include "meshwright/cost/price_list.h"

namespace meshwright {

Prices PlanPrices(const Rates& rates, const Cluster& cluster,
                  const std::vector<Forbidden>& forbidden, const Mesh& mesh) {
  return Without(PricesFor(rates, cluster, mesh), forbidden, mesh);
}

Prices PlanPrices(const Plan& plan, const Mesh& mesh) {
  return PlanPrices(plan.rates, plan.cluster, plan.steering.forbidden, mesh);
}

}  // namespace meshwright
