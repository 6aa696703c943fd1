// The view of a flattened module in which blocks are found.
#ifndef MESHWRIGHT_CLI_BLOCK_GRAPH_H_
#define MESHWRIGHT_CLI_BLOCK_GRAPH_H_

#include <vector>

#include "meshwright/analysis/op_graph.h"
#include "meshwright/graph/flat_graph.h"

namespace meshwright {

// Requires: `rules` are RulesOf(graph); both outlive the result.
OpGraph ViewOf(const FlatGraph& graph, const std::vector<Rule>& rules);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_BLOCK_GRAPH_H_
