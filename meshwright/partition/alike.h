// Values that are to be split alike, whichever way (Shardy's sharding groups).
//
//   ShardingGroup(a, id=0)  ShardingGroup(b, id=0)  ShardingGroup(b, id=1) ...
//
// A group is what its marks name; groups that share a value are one.
#ifndef MESHWRIGHT_PARTITION_ALIKE_H_
#define MESHWRIGHT_PARTITION_ALIKE_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/annotations/annotations.h"
#include "meshwright/graph/flat_graph.h"

namespace meshwright {

struct AlikeGroup {
  std::vector<ValueId> values;    // Of live ops, in order; two or more.
  std::optional<Sharding> given;  // What is given for one of them.
};

// kInvalidArgument, naming both, when two of a group have different shapes or
// are given different shardings.
absl::StatusOr<std::vector<AlikeGroup>> AlikeGroups(const FlatGraph& graph,
                                                    const Annotations& given);

// Parameters about which nothing is said lie as what is given for another of
// their group.
absl::Status PinAlikeParameters(const FlatGraph& graph, Annotations& given);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_ALIKE_H_
