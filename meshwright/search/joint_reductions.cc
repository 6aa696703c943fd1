#include "meshwright/search/joint_reductions.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "meshwright/rules/rule.h"

namespace meshwright {
namespace {

class Counter {
 public:
  Counter(const FlatGraph& graph, const SharedRules& rules)
      : graph_(graph),
        rules_(rules),
        behind_(graph.values.size(), 0),
        joint_(graph.values.size(), 1) {}

  std::vector<double> Run() && {
    for (const Region& region : graph_.regions) CountIn(region);
    return std::move(joint_);
  }

 private:
  bool MayReduce(OpId op) const {
    return std::ranges::any_of(rules_[op].factors, [](const Factor& factor) {
      return factor.kind == FactorKind::kReduced && factor.size > 1;
    });
  }

  // Loops and branches within count as ops that pass their operands on.
  std::vector<OpId> OpsOf(const Region::Item& item) const {
    switch (item.kind) {
      case Region::Item::Kind::kOp:
        return {OpId{item.index}};
      case Region::Item::Kind::kLoop:
        return graph_.loops[item.index].carries;
      case Region::Item::Kind::kBranch:
        return graph_.branches[item.index].merges;
    }
    return {};
  }

  void CountIn(const Region& region) {
    absl::flat_hash_map<int32_t, int32_t> reductions;  // By those behind.
    std::vector<ValueId> values;
    for (auto item = region.items.rbegin(); item != region.items.rend();
         ++item) {
      for (const OpId op : OpsOf(*item)) {
        const FlatOp& of = graph_.ops[op];
        if (!of.live) continue;
        const bool reduces = of.kind == OpKind::kCompute && MayReduce(op);
        int32_t behind = 0;
        for (int32_t i = 0; i < of.result_count; ++i) {
          const ValueId value = of.first_result + i;
          values.push_back(value);
          behind = std::max(behind, behind_[value]);
          if (reduces) ++reductions[behind_[value]];
        }
        // What a loop carries comes from before it and from within.
        const size_t count = of.kind == OpKind::kCarry ? 1 : of.operands.size();
        for (size_t i = 0; i < count; ++i) {
          int32_t& before = behind_[of.operands[i]];
          before = std::max(before, behind + (reduces ? 1 : 0));
        }
      }
    }
    for (const ValueId value : values) {
      const auto found = reductions.find(behind_[value]);
      if (found != reductions.end()) joint_[value] = found->second;
    }
  }

  const FlatGraph& graph_;
  const SharedRules& rules_;
  std::vector<int32_t> behind_;  // By value: the longest chain of reductions.
  std::vector<double> joint_;
};

}  // namespace

std::vector<double> JointReductions(const FlatGraph& graph,
                                    const SharedRules& rules) {
  return Counter(graph, rules).Run();
}

}  // namespace meshwright
