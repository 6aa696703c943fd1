// Ops that every device computes whole because they have no sharding rule;
// mostly custom calls.
#ifndef MESHWRIGHT_PARTITION_WHOLE_OPS_H_
#define MESHWRIGHT_PARTITION_WHOLE_OPS_H_

#include <vector>

#include "meshwright/graph/flat_graph.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

// Live ops with the fallback rule that have something to shard: an operand or
// result with a dimension of more than one element. `rules` are by op.
std::vector<OpId> WholeOps(const FlatGraph& graph,
                           const std::vector<Rule>& rules);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_WHOLE_OPS_H_
