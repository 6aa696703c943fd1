// Exact reductions: a smaller problem with the same optimum.
//
// Removes options that cannot be taken or that another option is never worse
// than; folds nodes whose option follows from a neighbour's; eliminates nodes
// of degree up to 2 that hold nothing; drops points that cannot break.
#ifndef MESHWRIGHT_SOLVE_REDUCE_H_
#define MESHWRIGHT_SOLVE_REDUCE_H_

#include "absl/functional/function_ref.h"
#include "meshwright/solve/graph.h"

namespace meshwright {

// One rule each, on what the work lists hold or on one node or edge. True when
// the graph changed.
bool ReduceEdge(Graph& graph, int32_t e);  // dead options, folding, splitting
bool DropInfiniteOptions(Graph& graph, int32_t v);
bool DropDominatedOptions(Graph& graph, int32_t v);
bool EliminateSmallDegree(Graph& graph, int32_t v);

// All rules until nothing changes, or `stop` says so (the graph is valid then
// too), or `graph.infeasible()` is set.
void Reduce(Graph& graph, absl::FunctionRef<bool()> stop);

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_REDUCE_H_
