// Rules for ops whose usual rule cannot give the pinned sharding: a strided
// sharding divides a factor, a slice may be sharded along the dimension that it
// slices.
//
//   parameter f32[64,768] pinned to [-, 3:- 256:model]
//     usual rule {[64],[768]}; pinned {[64],[3,256]}
#ifndef MESHWRIGHT_PARTITION_PINNED_RULES_H_
#define MESHWRIGHT_PARTITION_PINNED_RULES_H_

#include <vector>

#include "meshwright/graph/flat_graph.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/partition/tensor_pins.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

// Whether some strategy of `rule` gives the tensor the pinned sharding.
bool CanGive(const Rule& rule, const TensorPin& pin, const Mesh& mesh);

// RulesOf(graph), with another rule for those ops whose own one cannot satisfy
// their pins, if there is one that can. `pins` by op (PinsByOp).
std::vector<Rule> RulesWithPins(const FlatGraph& graph,
                                const std::vector<std::vector<TensorPin>>& pins,
                                const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_PINNED_RULES_H_
