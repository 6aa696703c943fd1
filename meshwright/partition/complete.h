// Sharding propagation: chooses a strategy for every op, given the shardings of
// parameters, results and perhaps some instructions.
//
// Each op in turn takes the strategy that is cheapest next to its neighbours
// (resharding operands, computing, resharding results), first in program order
// and then again whenever a neighbour has changed, until nothing improves.
// Since computing has a price, work stays sharded where communication alone
// would favour replication.
#ifndef MESHWRIGHT_PARTITION_COMPLETE_H_
#define MESHWRIGHT_PARTITION_COMPLETE_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/annotations/annotations.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/partition/assignment.h"
#include "meshwright/reshard/reshard.h"

namespace meshwright {

// The given shardings of parameters, outputs and (first results of)
// instructions, and which values must share one. Valid for their shapes, and
// not pending.
using Pins = Annotations;

// Parameters without a pin are replicated; outputs without a pin have any
// sharding. An error names an instruction that no strategy shards as pinned.
absl::StatusOr<Assignment> Complete(const FlatGraph& graph, const Pins& pins,
                                    const Mesh& mesh, const Prices& prices,
                                    Resharder& resharder);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_COMPLETE_H_
