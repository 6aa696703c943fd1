#include "meshwright/search/op_groups.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "meshwright/search/problem_policy.h"

namespace meshwright {
namespace {

uint64_t Mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9E3779B97F4A7C15 + b + 0x632BE59BD9B4E019;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

class Refiner {
 public:
  Refiner(const FlatGraph& graph, const std::vector<int32_t>& rule_ids,
          const std::vector<std::pair<OpId, OpId>>& tied)
      : graph_(graph), users_(UsersOf(graph)), ties_(graph.ops.size()) {
    for (const auto& [a, b] : tied) {
      ties_[a].push_back(b);
      ties_[b].push_back(a);
    }
    colors_.resize(graph.ops.size());
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      const FlatOp& op = graph.ops[i];
      if (!op.live) continue;
      uint64_t color = Mix(static_cast<uint64_t>(op.kind),
                           static_cast<uint64_t>(rule_ids[i]));
      color = Mix(color, static_cast<uint64_t>(op.instruction->opcode));
      colors_[i] = Mix(color, static_cast<uint64_t>(op.repeats * 16));
    }
  }

  OpGroups Run() && {
    for (int round = 0; round < kProblemPolicy.refinement_rounds; ++round)
      Refine();
    OpGroups groups;
    groups.group_of.assign(graph_.ops.size(), kNoGroup);
    absl::flat_hash_map<uint64_t, GroupId> by_color;
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (!graph_.ops[i].live) continue;
      const auto [entry, is_new] =
          by_color.try_emplace(colors_[i], GroupId(groups.count()));
      if (is_new) groups.members.emplace_back();
      groups.group_of[i] = entry->second;
      groups.members[entry->second].push_back(static_cast<OpId>(i));
    }
    return groups;
  }

 private:
  void Refine() {
    std::vector<uint64_t> next(colors_.size());
    std::vector<uint64_t> around;
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const FlatOp& op = graph_.ops[i];
      if (!op.live) continue;
      uint64_t color = colors_[i];
      for (const ValueId operand : op.operands) {
        const FlatValue& value = graph_.values[operand];
        color = Mix(color, Mix(colors_[value.producer], value.result));
      }
      for (int32_t result = 0; result < op.result_count; ++result) {
        around.clear();
        for (const OpId user : users_[op.first_result + result]) {
          around.push_back(colors_[user]);
        }
        std::sort(around.begin(), around.end());
        for (const uint64_t user : around) color = Mix(color, user);
      }
      around.clear();
      for (const OpId other : ties_[i]) around.push_back(colors_[other]);
      std::sort(around.begin(), around.end());
      for (const uint64_t other : around) color = Mix(color, other);
      next[i] = color;
    }
    colors_ = std::move(next);
  }

  const FlatGraph& graph_;
  const std::vector<std::vector<OpId>> users_;
  std::vector<std::vector<OpId>> ties_;
  std::vector<uint64_t> colors_;
};

}  // namespace

OpGroups GroupOps(const FlatGraph& graph, const std::vector<int32_t>& rule_ids,
                  const std::vector<std::pair<OpId, OpId>>& tied) {
  return Refiner(graph, rule_ids, tied).Run();
}

}  // namespace meshwright
