// Exact reductions: a smaller problem with the same optimum.
//
// Removes options that are impossible or dominated by another option; folds
// nodes whose option is implied by a neighbour's; eliminates nodes of degree up
// to 2 without usage; drops points that cannot be exceeded.
#ifndef MESHWRIGHT_SOLVE_REDUCE_H_
#define MESHWRIGHT_SOLVE_REDUCE_H_

#include "absl/functional/function_ref.h"
#include "meshwright/solve/graph.h"

namespace meshwright {

// One rule each, on the work lists or on one node or edge. True if the graph
// changed.
bool ReduceEdge(Graph& graph, int32_t e);  // Dead options, folding, splitting.
bool DropInfiniteOptions(Graph& graph, int32_t v);
bool DropDominatedOptions(Graph& graph, int32_t v);
bool EliminateSmallDegree(Graph& graph, int32_t v);

// All rules until nothing changes, `stop` returns true (the graph is valid
// then, too), or `graph.infeasible()` is set.
void Reduce(Graph& graph, absl::FunctionRef<bool()> stop);

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_REDUCE_H_
