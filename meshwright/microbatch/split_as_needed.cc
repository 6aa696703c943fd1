#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "meshwright/microbatch/time_split.h"
#include "meshwright/rules/open_island.h"

namespace meshwright {
namespace {

class NeededParts {
 public:
  NeededParts(const FlatGraph& part, const TimeSplit& split)
      : graph_(part), mesh_(split.mesh), assignment_(split.assignment) {}

  Assignment Run() {
    // Carries: as the users behind their loop need them, if the loop's body can
    // use that. One may lead to another.
    bool settled = false;
    while (!settled) {
      settled = true;
      FindWants();
      for (const OpId carry : supposed_) {
        if (IsWhole(carry) || GetsWhatItGives(carry)) continue;
        assignment_.strategies[carry] = WholeStrategy(carry);
        settled = false;
      }
      if (!settled) continue;
      for (OpId id{0}; id < OpCount(); ++id) {
        if (IsLive(id, OpKind::kCarry) && Suppose(id)) settled = false;
      }
    }
    return std::move(assignment_);
  }

 private:
  int32_t OpCount() const { return static_cast<int32_t>(graph_.ops.size()); }

  bool IsLive(OpId id, OpKind kind) const {
    return graph_.ops[id].live && graph_.ops[id].kind == kind;
  }
  Strategy WholeStrategy(OpId id) const {
    return ReplicatedStrategy(assignment_.rules[id]);
  }

  // Splits what can be split, and records the sharding that users need of each
  // value, from the end on.
  void FindWants() {
    wanted_.assign(graph_.values.size(), std::nullopt);
    outside_.assign(graph_.values.size(), std::nullopt);
    disputed_.assign(graph_.values.size(), false);
    for (const OpId id : split_) assignment_.strategies[id] = WholeStrategy(id);
    split_.clear();
    for (const Loop& loop : graph_.loops) Want(loop.go_on, {});
    for (const Branch& branch : graph_.branches) Want(branch.selector, {});
    // The next value of a carry is computed after the op that needs it.
    for (OpId id{0}; id < OpCount(); ++id) {
      if (IsLive(id, OpKind::kCarry)) WantOperands(id);
    }
    for (OpId id{OpCount()}; id-- > 0;) {
      if (!graph_.ops[id].live) continue;
      if (IsLive(id, OpKind::kCompute) && IsWhole(id)) Split(id);
      if (!IsLive(id, OpKind::kCarry)) WantOperands(id);
    }
  }

  // Gives a carry the sharding that an op behind its loop needs, or else one
  // inside. False if it has to stay as it is.
  bool Suppose(OpId id) {
    if (!IsWhole(id) || supposed_.contains(id)) return false;
    const ValueId value = graph_.ops[id].first_result;
    const std::optional<Sharding>& wanted =
        outside_[value].has_value() ? outside_[value] : wanted_[value];
    if (!wanted.has_value() || wanted->IsPending() || IsReplicated(*wanted)) {
      return false;
    }
    const Rule& rule = assignment_.rules[id];
    assignment_.strategies[id] =
        StrategyFor(rule, rule.results[0], *wanted, mesh_);
    supposed_.insert(id);
    return true;
  }

  bool GetsWhatItGives(OpId id) const {
    const ValueId value = graph_.ops[id].first_result;
    return !disputed_[value] && wanted_[value].has_value() &&
           *wanted_[value] == ResultSharding(assignment_.rules[id],
                                             assignment_.strategies[id], 0,
                                             mesh_);
  }

  void Want(ValueId value, const Sharding& sharding) {
    if (!wanted_[value].has_value()) wanted_[value] = sharding;
    if (*wanted_[value] != sharding) disputed_[value] = true;
  }

  void WantOperands(OpId id) {
    const FlatOp& op = graph_.ops[id];
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const ValueId value = op.operands[i];
      if (graph_.values[value].producer == id) continue;
      const Sharding wanted =
          OperandSharding(assignment_.rules[id], assignment_.strategies[id],
                          static_cast<int32_t>(i), mesh_);
      Want(value, wanted);
      if (op.region == graph_.producer(value).region) outside_[value] = wanted;
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
      if (strategy.factor_axes[i].empty()) continue;
      // A part of what one device has is no part of the whole.
      if (rule.factors[i].kind != FactorKind::kKept ||
          (rule.factors[i].tied >= 0 && IsRegionEdge(op))) {
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
    split_.push_back(id);
  }

  static bool IsRegionEdge(const FlatOp& op) {
    return op.kind == OpKind::kCompute && (EntersOpenIsland(*op.instruction) ||
                                           LeavesOpenIsland(*op.instruction));
  }

  const FlatGraph& graph_;
  const Mesh& mesh_;
  Assignment assignment_;
  // By value: what one user needs, one in the same region, and whether others
  // need something else.
  std::vector<std::optional<Sharding>> wanted_;
  std::vector<std::optional<Sharding>> outside_;
  std::vector<bool> disputed_;
  std::vector<OpId> split_;  // By Split.
  std::set<OpId> supposed_;  // Carries that were tried, successfully or not.
};

}  // namespace

Assignment SplitAsNeeded(const FlatGraph& part, const TimeSplit& split) {
  return NeededParts(part, split).Run();
}

}  // namespace meshwright
