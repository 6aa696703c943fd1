#include <optional>

#include "meshwright/partition/time_split.h"

namespace meshwright {
namespace {

class Demand {
 public:
  Demand(const FlatGraph& part, const TimeSplit& split)
      : graph_(part),
        mesh_(split.mesh),
        assignment_(split.assignment),
        wanted_(part.values.size()),
        disputed_(part.values.size()) {}

  Assignment Run() {
    for (const Loop& loop : graph_.loops) Want(loop.go_on, {});
    for (const Branch& branch : graph_.branches) Want(branch.selector, {});
    // What comes back to a loop is produced after the op that wants it.
    for (OpId id = 0; id < OpCount(); ++id) {
      if (graph_.ops[id].live && graph_.ops[id].kind == OpKind::kCarry) {
        WantOperands(id);
      }
    }
    for (OpId id = OpCount(); id-- > 0;) {
      if (!graph_.ops[id].live) continue;
      if (graph_.ops[id].kind == OpKind::kCompute && IsWhole(id)) Split(id);
      WantOperands(id);
    }
    return std::move(assignment_);
  }

 private:
  OpId OpCount() const { return static_cast<OpId>(graph_.ops.size()); }

  void Want(ValueId value, const Sharding& sharding) {
    if (!wanted_[value].has_value()) wanted_[value] = sharding;
    if (*wanted_[value] != sharding) disputed_[value] = true;
  }

  void WantOperands(OpId id) {
    const FlatOp& op = graph_.ops[id];
    for (size_t i = 0; i < op.operands.size(); ++i) {
      Want(op.operands[i],
           OperandSharding(assignment_.rules[id], assignment_.strategies[id],
                           static_cast<int32_t>(i), mesh_));
    }
  }

  bool IsWhole(OpId id) const {
    const Strategy& strategy = assignment_.strategies[id];
    for (const AxisList& axes : strategy.factor_axes) {
      if (!axes.empty()) return false;
    }
    return strategy.pending.empty();
  }

  void Split(OpId id) {
    const FlatOp& op = graph_.ops[id];
    const Rule& rule = assignment_.rules[id];
    Strategy strategy = ReplicatedStrategy(rule);
    for (int32_t i = 0; i < op.result_count; ++i) {
      const std::optional<Sharding>& wanted = wanted_[op.first_result + i];
      if (disputed_[op.first_result + i]) return;
      if (!wanted.has_value() || wanted->IsPending() ||
          SplitAxes(*wanted).empty()) {
        continue;
      }
      strategy = StrategyFor(rule, rule.results[i], *wanted, mesh_);
    }
    for (size_t i = 0; i < rule.factors.size(); ++i) {
      if (!strategy.factor_axes[i].empty() &&
          rule.factors[i].kind != FactorKind::kKept) {
        return;
      }
    }
    for (int32_t i = 0; i < op.result_count; ++i) {
      const std::optional<Sharding>& wanted = wanted_[op.first_result + i];
      if (wanted.has_value() &&
          ResultSharding(rule, strategy, i, mesh_) != *wanted) {
        return;
      }
    }
    assignment_.strategies[id] = strategy;
  }

  const FlatGraph& graph_;
  const Mesh& mesh_;
  Assignment assignment_;
  std::vector<std::optional<Sharding>> wanted_;  // By value; by its first user.
  std::vector<bool> disputed_;                   // Users want different things.
};

}  // namespace

Assignment SplitOnDemand(const FlatGraph& part, const TimeSplit& split) {
  return Demand(part, split).Run();
}

}  // namespace meshwright
