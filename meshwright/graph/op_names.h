// Names for the ops and values of a flat graph.
//
//   %dot.3 = dot(...)                "dot.3"
//   %while.5 = while(tuple)          its kCarry ops: "while.5[0]", "while.5[1]"
//   %cond.1 = conditional(...)       "cond.1.enter[0]", "cond.1.merge[0]"
//   the entry's results              "output[0]", "output[1]"
//
// They follow from the names of instructions, not from the order of ops. Ops
// that would have the same name, such as those of a computation with several
// callers, are numbered in order: "dot.3", "dot.3(2)".
#ifndef MESHWRIGHT_GRAPH_OP_NAMES_H_
#define MESHWRIGHT_GRAPH_OP_NAMES_H_

#include <string>
#include <vector>

#include "meshwright/graph/flat_graph.h"
#include "meshwright/hlo/computation.h"

namespace meshwright {

// By op; each is unique.
std::vector<std::string> OpNames(const FlatGraph& graph);

// By value: the name of its producer, and for all results but the first their
// number: "sort.2", "sort.2:1". `op_names` as above.
std::vector<std::string> ValueNames(const FlatGraph& graph,
                                    const std::vector<std::string>& op_names);

// By instruction; in the same way unique.
std::vector<std::string> InstructionNames(const Computation& computation);

}  // namespace meshwright

#endif  // MESHWRIGHT_GRAPH_OP_NAMES_H_
