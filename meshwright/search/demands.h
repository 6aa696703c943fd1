// What the groups of a step must keep to, and the options that leaves them.
//
//   Demands demands{.expert = DemandOf(Expert::kDp, model, mesh),
//                   .pins = *PinnedGroups(model, annotations, mesh)};
//   OptionMaker(model, mesh, demands, pool).For(group);
#ifndef MESHWRIGHT_SEARCH_DEMANDS_H_
#define MESHWRIGHT_SEARCH_DEMANDS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/partition/pool.h"
#include "meshwright/search/group_pins.h"
#include "meshwright/search/options.h"
#include "meshwright/search/step_model.h"

namespace meshwright {

// Whether a group may be sharded so: its first result, or an output's operand.
using Demand = std::function<bool(int32_t group, const Sharding& sharding)>;

struct Demands {
  Demand expert;  // Where nothing is pinned; may be empty.
  GroupPins pins;
  // Pins add options, but do not rule out others.
  bool offers_only = false;
};

// Options in which all axes but one are where they are.
struct OneAxisFree {
  std::vector<AxisPlaces> places;  // By group.
  int32_t free = 0;
};

class OptionMaker {
 public:
  // All outlive it.
  OptionMaker(const StepModel& model, const Mesh& mesh, const Demands& demands,
              ShardingPool& pool);

  // What the demands allow; may be empty. With `only`, groups that are pinned
  // or that it leaves nothing have all their options.
  std::vector<Option> For(int32_t group,
                          const OneAxisFree* only = nullptr) const;

 private:
  std::vector<Option> AsExpert(int32_t group, const OneAxisFree* only) const;

  const StepModel& model_;
  const Mesh& mesh_;
  const Demands& demands_;
  ShardingPool& pool_;
  const std::vector<AxisOrder> other_orders_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_DEMANDS_H_
