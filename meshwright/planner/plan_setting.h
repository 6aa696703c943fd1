// What a plan was made for, read back from its text and checked.
#ifndef MESHWRIGHT_PLANNER_PLAN_SETTING_H_
#define MESHWRIGHT_PLANNER_PLAN_SETTING_H_

#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cost/rates.h"
#include "meshwright/mesh/cluster.h"
#include "meshwright/partition/forbidden.h"
#include "meshwright/plan/plan.h"
#include "meshwright/remat/recompute.h"

namespace meshwright {

struct PlanSetting {
  Cluster cluster;
  Rates rates;  // Of that cluster.
  std::vector<Forbidden> forbidden;
  Recompute recompute = Recompute::kNone;
};

// kInvalidArgument when they do not fit each other or the plan's mesh.
absl::StatusOr<PlanSetting> SettingOf(const Plan& plan);

// What moves are priced with: the rates, without what is forbidden.
Prices PlanPrices(const Rates& rates, const Cluster& cluster,
                  const std::vector<Forbidden>& forbidden, const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_PLAN_SETTING_H_
