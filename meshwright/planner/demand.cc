#include "meshwright/planner/demand.h"

#include <map>

#include "meshwright/planner/pinned_groups.h"

namespace meshwright {

Demand PlanDemand(const StepModel& model, Expert of, const Mesh& mesh,
                  const Annotations& pins) {
  Demand expert = DemandOf(of, model, mesh);
  std::map<int32_t, Pin> pinned = PinnedGroups(model, pins);
  if (pinned.empty()) return expert;
  return [expert, pinned](int32_t group, const Sharding& sharding) {
    const auto pin = pinned.find(group);
    if (pin != pinned.end()) return Satisfies(sharding, *pin->second.asked);
    return !expert || expert(group, sharding);
  };
}

}  // namespace meshwright
