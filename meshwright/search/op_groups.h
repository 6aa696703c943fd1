// Groups ops of a flat graph whose neighbourhoods are isomorphic, such as the
// same op in each of 96 layers. The ops of a group get one strategy, so that a
// deep model is as easy to plan as a shallow one.
#ifndef MESHWRIGHT_SEARCH_OP_GROUPS_H_
#define MESHWRIGHT_SEARCH_OP_GROUPS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "meshwright/base/strong_id.h"
#include "meshwright/graph/flat_graph.h"

namespace meshwright {

using GroupId = StrongId<struct GroupIdTag>;
inline constexpr GroupId kNoGroup{-1};

struct OpGroups {
  std::vector<GroupId> group_of;           // By op; kNoGroup for dead ones.
  std::vector<std::vector<OpId>> members;  // By group, ascending.

  int32_t count() const { return static_cast<int32_t>(members.size()); }
};

// Colour refinement: two ops are equivalent if they, and all ops within a fixed
// number of steps of them, do the same on the same shapes. `rule_ids`, by op,
// tells which ops do the same; `tied` are pairs of ops that count as neighbours
// (a state parameter and its next value). Deterministic; linear in the graph.
OpGroups GroupOps(const FlatGraph& graph, const std::vector<int32_t>& rule_ids,
                  const std::vector<std::pair<OpId, OpId>>& tied);

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_OP_GROUPS_H_
