// Values that must have the same sharding, whichever it is (Shardy's sharding
// groups).
//
//   ShardingGroup(a, id=0)  ShardingGroup(b, id=0)  ShardingGroup(b, id=1) ...
//
// Values marked with the same id form a group; groups that share a value are
// merged.
#ifndef MESHWRIGHT_PARTITION_SHARDING_GROUPS_H_
#define MESHWRIGHT_PARTITION_SHARDING_GROUPS_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/annotations/annotations.h"
#include "meshwright/graph/flat_graph.h"

namespace meshwright {

struct ShardingGroup {
  std::vector<ValueId> values;    // Of live ops, in order; at least two.
  std::optional<Sharding> given;  // The sharding given for one of them, if any.
};

// kInvalidArgument, naming both, if two values of a group have different shapes
// or are given different shardings.
absl::StatusOr<std::vector<ShardingGroup>> ShardingGroups(
    const FlatGraph& graph, const Annotations& given);

// Gives parameters without a sharding of their own the one that is given for
// another member of their group.
absl::Status PinParametersOfGroups(const FlatGraph& graph, Annotations& given);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_SHARDING_GROUPS_H_
