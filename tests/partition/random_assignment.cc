#include "tests/partition/random_assignment.h"

#include <random>
#include <utility>

#include "meshwright/analysis/roles.h"

namespace meshwright {
namespace {

class Chooser {
 public:
  Chooser(const FlatGraph& graph, const Mesh& mesh, uint64_t seed)
      : graph_(graph), mesh_(mesh), random_(seed) {
    assignment_.rules = RulesOf(graph);
    assignment_.strategies.resize(graph.ops.size());
  }

  Assignment Run(const std::vector<StatePair>& state_pairs) {
    // By output op.
    std::vector<OpId> parameter_of(graph_.ops.size(), OpId{-1});
    for (const StatePair& pair : state_pairs) {
      parameter_of[graph_.outputs[pair.output]] =
          graph_.parameters[pair.parameter];
    }
    for (OpId op{0}; op < static_cast<OpId>(graph_.ops.size()); ++op) {
      if (!graph_.ops[op].live) continue;
      const Rule& rule = assignment_.rules[op];
      Strategy& strategy = assignment_.strategies[op];
      if (parameter_of[op] >= 0) {
        strategy = assignment_.strategies[parameter_of[op]];
      } else if (graph_.ops[op].operands.empty() || Chance(0.15)) {
        strategy = AnyStrategy(rule);
      } else {
        strategy = FollowingStrategy(op);
      }
    }
    return std::move(assignment_);
  }

 private:
  bool Chance(double probability) {
    return std::uniform_real_distribution<double>(0, 1)(random_) < probability;
  }
  size_t Below(size_t count) {
    return std::uniform_int_distribution<size_t>(0, count - 1)(random_);
  }

  // Every axis to a random factor, or to none.
  Strategy AnyStrategy(const Rule& rule) {
    Strategy strategy = ReplicatedStrategy(rule);
    if (rule.factors.empty()) return strategy;
    for (const AxisId axis : mesh_.AllSubAxes()) {
      if (Chance(0.4)) continue;
      const size_t factor = Below(rule.factors.size());
      const AxisList before = strategy.factor_axes[factor];
      strategy.factor_axes[factor].push_back(axis);
      // Padding must not be most of it.
      if (!IsValid(rule, strategy, mesh_) ||
          mesh_.Size(strategy.factor_axes[factor]) >
              rule.factors[factor].size) {
        strategy.factor_axes[factor] = before;
      }
    }
    return strategy;
  }

  Sharding ShardingOf(ValueId value) const {
    const FlatValue& of = graph_.values[value];
    return ResultSharding(assignment_.rules[of.producer],
                          assignment_.strategies[of.producer], of.result,
                          mesh_);
  }

  // As one operand lies, and where that leaves room as another does.
  Strategy FollowingStrategy(OpId op) {
    const Rule& rule = assignment_.rules[op];
    const std::vector<ValueId>& operands = graph_.ops[op].operands;
    Strategy strategy = ReplicatedStrategy(rule);
    const size_t first = Below(operands.size());
    for (size_t i = 0; i < operands.size(); ++i) {
      const size_t operand = (first + i) % operands.size();
      // What comes back to a loop is not there yet.
      if (graph_.values[operands[operand]].producer >= op) continue;
      const Sharding sharding = ShardingOf(operands[operand]);
      strategy = Merged(
          rule, strategy,
          StrategyFor(rule, rule.operands[operand], sharding, mesh_), mesh_);
      if (!sharding.IsPending() || !Chance(0.7)) continue;
      for (size_t j = 0; j < rule.linear.size(); ++j) {
        Strategy pending = strategy;
        pending.linear = static_cast<int32_t>(j);
        pending.reduction = sharding.reduction;
        pending.pending = sharding.pending;
        if (IsValid(rule, pending, mesh_)) strategy = pending;
      }
    }
    return strategy;
  }

  const FlatGraph& graph_;
  const Mesh& mesh_;
  std::mt19937_64 random_;
  Assignment assignment_;
};

}  // namespace

Assignment RandomAssignment(const Module& module, const FlatGraph& graph,
                            const Mesh& mesh, uint64_t seed) {
  return Chooser(graph, mesh, seed).Run(AnalyzeRoles(module).state_pairs);
}

}  // namespace meshwright
