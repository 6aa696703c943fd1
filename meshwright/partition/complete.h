// Fills in what the user left open: a strategy for every op, given how
// parameters, results and perhaps some instructions lie.
//
// Each op in turn takes the strategy that is cheapest next to its neighbours
// (moving operands, computing, moving results), in order first and then again
// wherever a neighbour has changed, until nothing improves. The price of
// computing keeps work split where communication would allow not to.
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

// What is given: how parameters, outputs and (first results of) instructions
// must lie, and which values alike. Valid for their shapes and not pending.
using Pins = Annotations;

// Parameters that are not pinned are replicated; outputs lie as they come. An
// error names an instruction that no strategy splits as pinned.
absl::StatusOr<Assignment> Complete(const FlatGraph& graph, const Pins& pins,
                                    const Mesh& mesh, const Prices& prices,
                                    Resharder& resharder);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_COMPLETE_H_
