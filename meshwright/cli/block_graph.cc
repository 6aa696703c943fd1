#include "meshwright/cli/block_graph.h"

namespace meshwright {
namespace {

OpGraph::Kind KindOf(const FlatOp& op) {
  if (!op.live) return OpGraph::Kind::kDead;
  switch (op.kind) {
    case OpKind::kParameter:
      return OpGraph::Kind::kParameter;
    case OpKind::kCompute:
      return OpGraph::Kind::kCompute;
    case OpKind::kCarry:
      return OpGraph::Kind::kCarry;
    case OpKind::kEnter:
    case OpKind::kMerge:
    case OpKind::kOutput:
      break;
  }
  return OpGraph::Kind::kOther;
}

}  // namespace

OpGraph ViewOf(const FlatGraph& graph, const std::vector<Rule>& rules) {
  OpGraph view;
  view.ops.reserve(graph.ops.size());
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const FlatOp& op = graph.ops[i];
    const ElementType type =
        op.result_count == 0
            ? ElementType::kInvalid
            : graph.values[op.first_result].shape->element_type;
    view.ops.push_back({.kind = KindOf(op),
                        .instruction = op.instruction,
                        .rule = &rules[i],
                        .operands = op.operands,
                        .first_result = op.first_result,
                        .result_count = op.result_count,
                        .element_type = type,
                        .repeats = op.repeats});
  }
  view.producers.reserve(graph.values.size());
  for (const FlatValue& value : graph.values) {
    view.producers.push_back(value.producer);
  }
  return view;
}

}  // namespace meshwright
