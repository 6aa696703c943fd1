#include "meshwright/search/least_peak.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "meshwright/partition/pool.h"

namespace meshwright {

int64_t LeastPeak(const StepModel& model, const Mesh& mesh,
                  const Requirements& requirements) {
  std::vector<double> held(static_cast<size_t>(model.points), 0);
  ShardingPool pool;
  const OptionMaker maker(model, mesh, requirements, pool);
  for (GroupId group{0}; group < model.groups.count(); ++group) {
    const std::vector<GroupValueId>& values = model.group_values[group];
    if (values.empty()) continue;
    std::vector<double> least(values.size(),
                              std::numeric_limits<double>::infinity());
    for (const Option& option : maker.For(group)) {
      for (size_t i = 0; i < values.size(); ++i) {
        const GroupValue& value = model.values[values[i]];
        if (!value.shape->IsArray()) continue;
        least[i] = std::min(
            least[i],
            LocalBytes(*value.shape, pool[option.results[value.result]], mesh));
      }
    }
    for (size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(least[i])) continue;  // The planner says why not.
      const std::vector<float>& alive = model.values[values[i]].alive;
      for (size_t point = 0; point < held.size(); ++point) {
        held[point] += least[i] * static_cast<double>(alive[point]);
      }
    }
  }
  const auto most = std::max_element(held.begin(), held.end());
  return most == held.end() ? 0 : static_cast<int64_t>(std::ceil(*most));
}

}  // namespace meshwright
