// Whether a step can be partitioned at all.
#ifndef MESHWRIGHT_PARTITION_SUPPORTED_H_
#define MESHWRIGHT_PARTITION_SUPPORTED_H_

#include "absl/status/status.h"
#include "meshwright/graph/flat_graph.h"

namespace meshwright {

// kInvalidArgument, naming the instruction, if one has no per-device form
// (rules/refusal.h) because the step already communicates with other devices or
// with the host.
absl::Status CheckSupported(const FlatGraph& graph);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_SUPPORTED_H_
