#include "meshwright/microbatch/time_split.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/check.h"
#include "meshwright/program/local_builder.h"
#include "meshwright/rules/divide.h"
#include "meshwright/rules/open_island.h"

namespace meshwright {
namespace {

bool IsSplit(const Sharding& sharding) { return !SplitAxes(sharding).empty(); }

// The region that holds the loop or branch of each region; -1 for the entry.
std::vector<RegionId> Parents(const FlatGraph& graph) {
  std::vector<RegionId> parents(graph.regions.size(), RegionId{-1});
  for (RegionId i{0}; i < static_cast<RegionId>(graph.regions.size()); ++i) {
    for (const Region::Item& item : graph.regions[i].items) {
      if (item.kind == Region::Item::Kind::kLoop) {
        parents[graph.loops[item.index].body] = i;
        parents[graph.loops[item.index].condition] = i;
      } else if (item.kind == Region::Item::Kind::kBranch) {
        for (const RegionId inside : graph.branches[item.index].regions) {
          parents[inside] = i;
        }
      }
    }
  }
  return parents;
}

class Follower {
 public:
  Follower(const FlatGraph& graph, bool estimates, const RegionNeeds* regions,
           TimeSplit& split)
      : graph_(graph),
        estimates_(estimates),
        regions_(regions),
        rules_(split.assignment.rules),
        split_(split),
        parents_(Parents(graph)) {
    for (size_t id = 0; regions != nullptr && id < rules_.size(); ++id) {
      if (!regions->apart[id]) continue;
      rules_[id] = *RegionEdgeFactors(*graph.ops[id].instruction, true);
    }
    group_of_.assign(graph.ops.size(), nullptr);
    for (const Loop& loop : graph.loops) AddGroup(loop.carries);
    for (const Branch& branch : graph.branches) {
      std::vector<OpId> enters;
      for (const std::vector<OpId>& some : branch.enters) {
        enters.insert(enters.end(), some.begin(), some.end());
      }
      AddGroup(std::move(enters));
    }
  }

  // In order, and again while what comes back to loops changes.
  void Run() {
    const bool comes_back = !graph_.loops.empty() || !graph_.branches.empty();
    // Each pass settles a carry at least; nested ones need a few.
    for (size_t pass = 0; pass < graph_.ops.size() + 2; ++pass) {
      const std::vector<Sharding> before =
          comes_back ? split_.states : std::vector<Sharding>();
      for (OpId id{0}; id < static_cast<OpId>(graph_.ops.size()); ++id) {
        const FlatOp& op = graph_.ops[id];
        if (!op.live || op.kind == OpKind::kParameter) continue;
        Follow(id);
        for (int32_t i = 0; i < op.result_count; ++i) {
          split_.states[op.first_result + i] =
              ResultSharding(rule(id), strategy(id), i, mesh());
        }
      }
      if (!comes_back || split_.states == before) break;
    }
    if (regions_ != nullptr) split_.assignment.rules = std::move(rules_);
  }

 private:
  const Mesh& mesh() const { return split_.mesh; }
  const Rule& rule(OpId id) const { return rules_[id]; }
  Strategy& strategy(OpId id) { return split_.assignment.strategies[id]; }

  void AddGroup(std::vector<OpId> ops) {
    groups_.push_back(std::make_unique<std::vector<OpId>>(std::move(ops)));
    for (const OpId op : *groups_.back()) group_of_[op] = groups_.back().get();
  }

  const Sharding& State(OpId id, size_t operand) const {
    return split_.states[graph_.ops[id].operands[operand]];
  }

  // Whether the loop or branch that `id` leads into has split values inside.
  bool IsSplitInside(OpId id) const {
    for (const OpId other : *group_of_[id]) {
      if (!graph_.ops[other].live) continue;
      for (size_t i = 0; i < graph_.ops[other].operands.size(); ++i) {
        if (IsSplit(State(other, i))) return true;
      }
    }
    return false;
  }

  // Partial values that a loop or branch only reads, or that meet no split
  // value there, are completed before it.
  bool CompletesAtEntry(OpId id) const {
    const FlatOp& op = graph_.ops[id];
    if (!State(id, 0).IsPending()) return false;
    if (op.kind == OpKind::kEnter) {
      return parents_[op.region] == 0 && !IsSplitInside(id);
    }
    if (op.kind != OpKind::kCarry || op.region != 0) return false;
    return op.operands[1] == op.first_result || !IsSplitInside(id);
  }

  void CompleteVarying(OpId id) {
    std::vector<bool>& completed = split_.completed[id];
    for (size_t i = 0; i < completed.size(); ++i) {
      if (!IsReplicated(State(id, i))) completed[i] = true;
    }
  }

  void Follow(OpId id) {
    const FlatOp& op = graph_.ops[id];
    std::vector<bool>& completed = split_.completed[id];
    completed.assign(op.operands.size(), false);
    if (regions_ != nullptr) DivideForStrides(id);
    strategy(id) = ReplicatedStrategy(rule(id));
    if (op.kind == OpKind::kOutput) {
      CompleteVarying(id);
      return;
    }
    if ((op.kind == OpKind::kCarry || op.kind == OpKind::kEnter) &&
        CompletesAtEntry(id)) {
      completed[0] = true;
    }
    if (regions_ != nullptr) FollowRegions(id);
    if (!FollowSplit(id)) {
      CompleteVarying(id);
      strategy(id) = ReplicatedStrategy(rule(id));
      return;
    }
    if (FollowPending(id)) return;
    for (size_t i = 0; i < completed.size(); ++i) {
      if (State(id, i).IsPending()) completed[i] = true;
    }
    strategy(id) = ReplicatedStrategy(rule(id));
    if (!FollowSplit(id)) {
      CompleteVarying(id);
      strategy(id) = ReplicatedStrategy(rule(id));
    }
  }

  // So that what left a region apart goes through.
  void DivideForStrides(OpId id) {
    for (size_t i = 0; i < graph_.ops[id].operands.size(); ++i) {
      std::optional<Rule> divided =
          Divided(rule(id), static_cast<int32_t>(i), State(id, i));
      if (divided.has_value()) rules_[id] = *std::move(divided);
    }
  }

  void FollowRegions(OpId id) {
    if (regions_->completed[id] && State(id, 0).IsPending()) {
      split_.completed[id][0] = true;
    }
    if (regions_->split[id].has_value() && IsReplicated(State(id, 0))) {
      const int32_t factor = rule(id).operands[0][*regions_->split[id]][0];
      SetAxes(rule(id), factor, mesh().AllSubAxes(), strategy(id));
    }
  }

  // Gives factors the axes of the split operands. False if they do not fit.
  bool FollowSplit(OpId id) {
    Strategy& chosen = strategy(id);
    for (size_t i = 0; i < split_.completed[id].size(); ++i) {
      if (split_.completed[id][i] || !IsSplit(State(id, i))) continue;
      const Strategy asked =
          StrategyFor(rule(id), rule(id).operands[i], State(id, i), mesh());
      for (size_t j = 0; j < chosen.factor_axes.size(); ++j) {
        if (asked.factor_axes[j].empty()) continue;
        if (!chosen.factor_axes[j].empty() &&
            chosen.factor_axes[j] != asked.factor_axes[j]) {
          return false;
        }
        chosen.factor_axes[j] = asked.factor_axes[j];
      }
    }
    return IsLocal(id) && TakesAsTheyAre(id);
  }

  bool IsLocal(OpId id) {
    const Strategy& chosen = strategy(id);
    for (size_t j = 0; j < chosen.factor_axes.size(); ++j) {
      const Factor& factor = rule(id).factors[j];
      if (!chosen.factor_axes[j].empty() &&
          (factor.kind == FactorKind::kExchanged ||
           factor.size % mesh().Size(chosen.factor_axes[j]) != 0)) {
        return false;
      }
    }
    return IsValid(rule(id), chosen, mesh());
  }

  // Whether split operands are taken exactly as they lie.
  bool TakesAsTheyAre(OpId id) {
    for (size_t i = 0; i < split_.completed[id].size(); ++i) {
      if (split_.completed[id][i] || !IsSplit(State(id, i))) continue;
      if (OperandSharding(rule(id), strategy(id), static_cast<int32_t>(i),
                          mesh())
              .dims != State(id, i).dims) {
        return false;
      }
    }
    return true;
  }

  // Passes partial values on. False if there are some and the op is not linear
  // in them.
  bool FollowPending(OpId id) {
    const Sharding* pending = nullptr;
    for (size_t i = 0; i < split_.completed[id].size(); ++i) {
      if (split_.completed[id][i] || !State(id, i).IsPending()) continue;
      if (pending == nullptr) pending = &State(id, i);
      if (pending->pending != State(id, i).pending ||
          pending->reduction != State(id, i).reduction) {
        return false;
      }
    }
    if (pending == nullptr) return true;
    Strategy chosen = strategy(id);
    chosen.pending = pending->pending;
    chosen.reduction = pending->reduction;
    for (size_t i = 0; i < rule(id).linear.size(); ++i) {
      chosen.linear = static_cast<int32_t>(i);
      if (!IsValid(rule(id), chosen, mesh()) ||
          !IsLinear(id, rule(id).linear[i], chosen.reduction)) {
        continue;
      }
      strategy(id) = chosen;
      return true;
    }
    return false;
  }

  bool IsLinear(OpId id, const Linear& linear, Reduction reduction) const {
    for (size_t i = 0; i < split_.completed[id].size(); ++i) {
      const bool listed =
          std::binary_search(linear.operands.begin(), linear.operands.end(),
                             static_cast<int32_t>(i));
      const bool completed = split_.completed[id][i];
      if (!completed && State(id, i).IsPending()) {
        if (!listed) return false;
      } else if (listed && (completed || !MayBecomePending(id, i, reduction))) {
        return false;
      }
    }
    return true;
  }

  // An invariant value joins partial ones by counting in the first micro-batch
  // only. Better not, where they can be completed instead.
  bool MayBecomePending(OpId id, size_t operand, Reduction reduction) const {
    if (!IsReplicated(State(id, operand))) return false;
    const FlatOp& op = graph_.ops[id];
    if (op.kind != OpKind::kCompute) return true;
    if (op.region != 0 && !estimates_) return true;
    return IsIdentity(op.operands[operand], reduction, op.region != 0);
  }

  // Whether the value is a constant that changes nothing; or, in a loop, begins
  // so (and becomes pending itself, where sums are added to it).
  bool IsIdentity(ValueId value, Reduction reduction, bool in_loop) const {
    while (true) {
      const OpId id = graph_.values[value].producer;
      const FlatOp& op = graph_.ops[id];
      if (!(in_loop && op.kind == OpKind::kCarry) &&
          (op.kind != OpKind::kCompute || !rule(id).cheap_to_repeat)) {
        return false;
      }
      if (op.operands.empty()) {
        return LocalBuilder::IsIdentity(*op.instruction, reduction);
      }
      value = op.operands[0];  // Of a broadcast or carry.
    }
  }

  const FlatGraph& graph_;
  const bool estimates_;
  const RegionNeeds* const regions_;
  std::vector<Rule> rules_;  // By op.
  TimeSplit& split_;
  const std::vector<RegionId> parents_;
  // The ops that lead into one loop or branch.
  std::vector<std::unique_ptr<std::vector<OpId>>> groups_;
  std::vector<const std::vector<OpId>*> group_of_;
};

}  // namespace

std::vector<bool> NestedOps(const FlatGraph& graph) {
  const std::vector<RegionId> parents = Parents(graph);
  std::vector<bool> nested(graph.ops.size());
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const FlatOp& op = graph.ops[i];
    nested[i] =
        op.kind == OpKind::kEnter ? parents[op.region] != 0 : op.region != 0;
    nested[i] = nested[i] || op.kind == OpKind::kMerge;
  }
  return nested;
}

TimeSplit SplitOverTime(const FlatGraph& graph, int64_t count,
                        const std::vector<std::optional<int64_t>>& dimensions,
                        bool estimates, const RegionNeeds* regions) {
  absl::StatusOr<Mesh> mesh = Mesh::Create({{"time", count}});
  MW_CHECK(mesh.ok()) << mesh.status();
  TimeSplit split{.mesh = *std::move(mesh)};
  split.assignment.rules = RulesOf(graph);
  split.completed.resize(graph.ops.size());
  for (const Rule& rule : split.assignment.rules) {
    split.assignment.strategies.push_back(ReplicatedStrategy(rule));
  }
  for (const FlatValue& value : graph.values) {
    split.states.push_back(Sharding::Replicated(value.shape->dimensions));
  }
  for (size_t i = 0; i < graph.parameters.size(); ++i) {
    if (!dimensions[i].has_value()) continue;
    const OpId op = graph.parameters[i];
    Strategy& strategy = split.assignment.strategies[op];
    strategy.factor_axes[*dimensions[i]] = split.mesh.AllSubAxes();
    split.states[graph.ops[op].first_result] =
        ResultSharding(split.assignment.rules[op], strategy, 0, split.mesh);
  }
  Follower(graph, estimates, regions, split).Run();
  return split;
}

ElementType AccumulatorType(ElementType type, const Sharding& state) {
  const bool adds =
      state.IsPending() && (state.reduction == Reduction::kSum ||
                            state.reduction == Reduction::kProduct);
  return adds && IsFloating(type) && BitWidth(type) < 32 ? ElementType::kF32
                                                         : type;
}

}  // namespace meshwright
