// Where partial sums over time are completed.
//
// A gradient is a partial sum from the contraction that computes it up to the
// first op that is not linear in it. It can be accumulated anywhere in between:
// before or after it is scaled, added to another, converted, broadcast. The
// values to accumulate are a min cut: every op is either inside of
// micro-batches or behind them, and a value that crosses costs its bytes.
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/microbatch/time_split.h"
#include "meshwright/solve/min_cut.h"

namespace meshwright {
namespace {

class AccumulatorSearch {
 public:
  AccumulatorSearch(const FlatGraph& graph, TimeSplit& split)
      : graph_(graph), split_(split), nodes_(graph.ops.size(), -1) {}

  void Run() {
    FindLate();
    for (OpId id{0}; id < OpCount(); ++id) {
      if (graph_.ops[id].live) AddUses(id);
    }
    for (const Branch& branch : graph_.branches) {
      if (!split_.states[branch.selector].IsPending()) continue;
      cut_.AddEdge(CrossingOf(branch.selector), cut_.sink(), MinCut::kNever);
    }
    const std::vector<bool> before = cut_.Solve();
    for (OpId id{0}; id < OpCount(); ++id) {
      if (nodes_[id] < 0 || before[nodes_[id]]) continue;
      if (IsFree(id)) WorkOnComplete(id);
    }
  }

 private:
  int32_t OpCount() const { return static_cast<int32_t>(graph_.ops.size()); }
  const Strategy& strategy(OpId id) const {
    return split_.assignment.strategies[id];
  }

  // Whether the op passes partial values on and does nothing else over time.
  bool IsFree(OpId id) const {
    const FlatOp& op = graph_.ops[id];
    if (op.kind != OpKind::kCompute || op.region != 0 ||
        strategy(id).pending.empty() ||
        (!split_.in_region.empty() && split_.in_region[id])) {
      return false;
    }
    for (const AxisList& axes : strategy(id).factor_axes) {
      if (!axes.empty()) return false;
    }
    return true;
  }

  // Values that depend on completed ones.
  void FindLate() {
    late_.resize(graph_.values.size());
    for (OpId id{0}; id < OpCount(); ++id) {
      const FlatOp& op = graph_.ops[id];
      if (!op.live) continue;
      bool late = false;
      for (size_t i = 0; i < op.operands.size(); ++i) {
        late = late || late_[op.operands[i]] || split_.Completes(graph_, id, i);
      }
      for (int32_t i = 0; i < op.result_count; ++i) {
        late_[op.first_result + i] = late;
      }
    }
  }

  // Whether the op has to wait for another operand anyway.
  bool IsLate(OpId id) const {
    for (const ValueId value : graph_.ops[id].operands) {
      if (late_[value] && split_.IsInvariant(value)) return true;
    }
    return false;
  }

  int32_t NodeOf(OpId id) {
    if (nodes_[id] < 0) {
      nodes_[id] = cut_.AddNode();
      if (!IsFree(id)) {
        cut_.AddEdge(cut_.source(), nodes_[id], MinCut::kNever);
      } else if (IsLate(id)) {
        cut_.AddEdge(nodes_[id], cut_.sink(), MinCut::kNever);
      }
    }
    return nodes_[id];
  }

  int64_t BytesOf(ValueId value) const {
    Shape shape = *graph_.values[value].shape;
    shape.element_type =
        AccumulatorType(shape.element_type, split_.states[value]);
    return ByteSize(shape);
  }

  // The node behind which a value is accumulated.
  int32_t CrossingOf(ValueId value) {
    const auto [entry, is_new] = crossings_.try_emplace(value, 0);
    if (is_new) {
      const int32_t node = cut_.AddNode();
      entry->second = node;
      cut_.AddEdge(NodeOf(graph_.values[value].producer), node, BytesOf(value));
    }
    return entry->second;
  }

  void AddUses(OpId id) {
    const FlatOp& op = graph_.ops[id];
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const ValueId value = op.operands[i];
      if (!split_.states[value].IsPending()) continue;
      if (split_.completed[id][i]) {
        cut_.AddEdge(CrossingOf(value), cut_.sink(), MinCut::kNever);
        continue;
      }
      const int32_t user = NodeOf(id);
      const int32_t crossing = CrossingOf(value);
      cut_.AddEdge(crossing, user, MinCut::kNever);
      // Nothing inside may depend on something behind.
      cut_.AddEdge(user, NodeOf(graph_.values[value].producer), MinCut::kNever);
    }
  }

  void WorkOnComplete(OpId id) {
    const FlatOp& op = graph_.ops[id];
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (split_.states[op.operands[i]].IsPending()) {
        split_.completed[id][i] = true;
      }
    }
    Strategy& chosen = split_.assignment.strategies[id];
    chosen = ReplicatedStrategy(split_.assignment.rules[id]);
    for (int32_t i = 0; i < op.result_count; ++i) {
      split_.states[op.first_result + i] =
          ResultSharding(split_.assignment.rules[id], chosen, i, split_.mesh);
    }
  }

  const FlatGraph& graph_;
  TimeSplit& split_;
  MinCut cut_;
  std::vector<int32_t> nodes_;  // By op; -1 if it has none.
  std::vector<bool> late_;      // By value.
  absl::flat_hash_map<ValueId, int32_t> crossings_;
};

}  // namespace

void PlaceAccumulators(const FlatGraph& graph, TimeSplit& split) {
  AccumulatorSearch(graph, split).Run();
}

}  // namespace meshwright
