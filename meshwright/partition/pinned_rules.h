// Rules of ops that are pinned in a way that their usual rule does not have: a
// strided split divides a factor, a slice may be split along what it slices.
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

// Whether some strategy of `rule` gives the tensor the sharding asked for.
bool CanGive(const Rule& rule, const TensorPin& pin, const Mesh& mesh);

// RulesOf(graph), with others for those ops whose pins they cannot keep, where
// there are such. `pins` by op (PinsByOp).
std::vector<Rule> RulesWithPins(const FlatGraph& graph,
                                const std::vector<std::vector<TensorPin>>& pins,
                                const Mesh& mesh);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_PINNED_RULES_H_
