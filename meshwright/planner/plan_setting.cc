#include "meshwright/planner/plan_setting.h"

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/cost/price_list.h"
#include "meshwright/mesh/cluster_file.h"

namespace meshwright {

absl::StatusOr<PlanSetting> SettingOf(const Plan& plan) {
  PlanSetting setting;
  MW_ASSIGN_OR_RETURN(setting.cluster, ParseCluster(plan.cluster));
  MW_ASSIGN_OR_RETURN(setting.rates, ParseRates(plan.rates));
  if (setting.rates.levels.size() != setting.cluster.levels.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the plan's rates are of ", setting.rates.levels.size(),
        " levels of links, its cluster has ", setting.cluster.levels.size()));
  }
  if (plan.mesh.device_count() > setting.cluster.device_count()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan's mesh ", plan.mesh.ToString(), " has ",
                     plan.mesh.device_count(), " devices, its cluster ",
                     setting.cluster.device_count()));
  }
  if (plan.micro_batches < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the plan has ", plan.micro_batches, " micro-batches"));
  }
  MW_ASSIGN_OR_RETURN(setting.recompute, ParseRecompute(plan.recompute));
  for (const std::string& text : plan.steering.forbidden) {
    MW_ASSIGN_OR_RETURN(const std::vector<Forbidden> one, ParseForbidden(text));
    setting.forbidden.insert(setting.forbidden.end(), one.begin(), one.end());
  }
  MW_RETURN_IF_ERROR(CheckAxes(setting.forbidden, plan.mesh));
  return setting;
}

Prices PlanPrices(const Rates& rates, const Cluster& cluster,
                  const std::vector<Forbidden>& forbidden, const Mesh& mesh) {
  return Without(PricesFor(rates, cluster, mesh), forbidden, mesh);
}

}  // namespace meshwright
