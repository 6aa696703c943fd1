// Which all-reduces a program can combine, whatever the strategies.
//
// Programs combine all-reduces of which none depends on another
// (program_passes/combine.h): those of a step's gradients become a few, while
// those of activations remain apart. The search prices each reshard by itself;
// so that the gradients of 400 weights do not count 400 latencies, it has to
// know how many can share one.
//
//   g1 = dot(x, e), g2 = dot(y, e)    // Used by nothing but the optimizer:
//                                     // two values share a latency.
//   z = dot(dot(x, w), v)             // The first has the second behind it:
//                                     // each has a latency of its own.
#ifndef MESHWRIGHT_SEARCH_JOINT_REDUCTIONS_H_
#define MESHWRIGHT_SEARCH_JOINT_REDUCTIONS_H_

#include <vector>

#include "meshwright/graph/flat_graph.h"
#include "meshwright/partition/assignment.h"

namespace meshwright {

// By value: how many values of its region may be reduced at once with it,
// itself included: those with as many reductions, one after the other, behind
// them. `rules`: by op. Linear in the graph.
std::vector<double> JointReductions(const FlatGraph& graph,
                                    const SharedRules& rules);

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_JOINT_REDUCTIONS_H_
