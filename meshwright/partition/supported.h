// Steps that can be split over devices at all.
#ifndef MESHWRIGHT_PARTITION_SUPPORTED_H_
#define MESHWRIGHT_PARTITION_SUPPORTED_H_

#include "absl/status/status.h"
#include "meshwright/graph/flat_graph.h"

namespace meshwright {

// kInvalidArgument, naming the instruction, when one has no per-device form
// (rules/refusal.h): the step talks to other devices already, or to the host.
absl::Status CheckSupported(const FlatGraph& graph);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_SUPPORTED_H_
