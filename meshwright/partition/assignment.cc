#include "meshwright/partition/assignment.h"

#include <numeric>

namespace meshwright {
namespace {

Rule RuleOfOp(const FlatGraph& graph, const FlatOp& op) {
  if (op.kind == OpKind::kCompute && op.after < 0) {
    return RuleFor(*op.instruction);
  }
  const ValueId value = op.result_count > 0 ? op.first_result : op.operands[0];
  Rule rule =
      PointwiseRule(graph.values[value].shape->dimensions,
                    static_cast<int32_t>(op.operands.size()), op.result_count);
  if (op.kind != OpKind::kParameter && op.kind != OpKind::kOutput) {
    std::vector<int32_t> all(op.operands.size());
    std::iota(all.begin(), all.end(), 0);
    rule.linear = {{std::nullopt, std::move(all)}};
  }
  return rule;
}

}  // namespace

std::vector<Rule> RulesOf(const FlatGraph& graph) {
  std::vector<Rule> rules(graph.ops.size());
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (graph.ops[i].live) rules[i] = RuleOfOp(graph, graph.ops[i]);
  }
  return rules;
}

Strategy ReplicatedStrategy(const Rule& rule) {
  Strategy strategy;
  strategy.factor_axes.resize(rule.factors.size());
  return strategy;
}

Strategy StrategyFor(const Rule& rule, const TensorFactors& tensor,
                     const Sharding& sharding, const Mesh& mesh) {
  Strategy strategy = ReplicatedStrategy(rule);
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < tensor.size(); ++i) {
    if (AxesOf(sharding.dims[i]).empty()) continue;
    sizes.clear();
    for (const int32_t factor : tensor[i]) {
      sizes.push_back(rule.factors[factor].size);
    }
    const Projection projection = Project(sharding.dims[i], sizes, mesh);
    const std::vector<AxisList> before = strategy.factor_axes;
    for (size_t j = 0; j < tensor[i].size(); ++j) {
      const int32_t factor = tensor[i][j];
      if (rule.factors[factor].kind == FactorKind::kWhole) continue;
      SetAxes(rule, factor, projection.axes[j], strategy);
    }
    if (!IsValid(rule, strategy, mesh)) strategy.factor_axes = before;
  }
  return strategy;
}

Strategy Merged(const Rule& rule, const Strategy& first, const Strategy& second,
                const Mesh& mesh) {
  Strategy merged = first;
  uint32_t used = first.pending.Bits();
  for (const AxisList& axes : first.factor_axes) used |= axes.Bits();
  for (size_t i = 0; i < merged.factor_axes.size(); ++i) {
    if (!merged.factor_axes[i].empty() || rule.factors[i].tied >= 0) continue;
    AxisList more;  // As long as they are free.
    for (const AxisId axis : second.factor_axes[i]) {
      if ((used >> axis & 1) != 0) break;
      more.push_back(axis);
    }
    if (more.empty()) continue;
    SetAxes(rule, static_cast<int32_t>(i), more, merged);
    if (IsValid(rule, merged, mesh)) {
      used |= more.Bits();
    } else {
      SetAxes(rule, static_cast<int32_t>(i), {}, merged);
    }
  }
  return merged;
}

}  // namespace meshwright
