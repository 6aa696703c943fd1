#include "meshwright/partition/whole_ops.h"

#include "meshwright/rules/suggest_rule.h"

namespace meshwright {

std::vector<OpId> WholeOps(const FlatGraph& graph,
                           const std::vector<Rule>& rules) {
  std::vector<OpId> whole;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const FlatOp& op = graph.ops[i];
    if (op.live && rules[i].is_fallback &&
        HasDimensionsToSplit(*op.instruction)) {
      whole.push_back(static_cast<OpId>(i));
    }
  }
  return whole;
}

}  // namespace meshwright
