#include "meshwright/partition/dropout_ties.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/rules/fused_attention.h"

namespace meshwright {
namespace {

// Empty for other ops.
std::string KeyOf(const FlatOp& op, const Rule& rule, const Mesh& mesh) {
  if (!op.live || op.kind != OpKind::kCompute) return "";
  // A rule from the call itself has other factors.
  if (rule.is_fallback || std::ssize(rule.factors) < kAttentionShards ||
      rule.operands.empty() || rule.operands[0].empty() ||
      rule.operands[0][0] != DimFactors{0}) {
    return "";
  }
  const std::optional<FusedAttention> found =
      ReadFusedAttention(*op.instruction);
  if (!found.has_value() || found->dropout <= 0) return "";
  return absl::StrCat(
      mesh.ToString(), " ",
      absl::StrJoin({found->seed, found->batch, found->query_heads,
                     found->key_heads, found->queries, found->keys},
                    " "));
}

std::vector<AxisList> ShardsOf(const Strategy& strategy) {
  return {strategy.factor_axes.begin(),
          strategy.factor_axes.begin() + kAttentionShards};
}

int64_t DeviceCount(const std::vector<AxisList>& shards, const Mesh& mesh) {
  int64_t count = 1;
  for (const AxisList& axes : shards) count *= mesh.Size(axes);
  return count;
}

}  // namespace

void DropoutTies::Apply(const FlatGraph& graph, const Mesh& mesh,
                        Assignment& assignment) {
  std::map<std::string, std::vector<OpId>> calls;
  for (OpId op{0}; op < std::ssize(graph.ops); ++op) {
    const std::string key = KeyOf(graph.ops[op], assignment.rules[op], mesh);
    if (!key.empty()) calls[key].push_back(op);
  }
  for (const auto& [key, ops] : calls) {
    auto [known, is_new] = known_.try_emplace(key);
    std::vector<AxisList>& shards = known->second;
    for (const OpId op : ops) {
      if (!is_new) break;
      std::vector<AxisList> of = ShardsOf(assignment.strategies[op]);
      if (shards.empty() || DeviceCount(of, mesh) > DeviceCount(shards, mesh)) {
        shards = std::move(of);
      }
    }
    for (const OpId op : ops) {
      const Rule& rule = assignment.rules[op];
      for (int32_t factor = 0; factor < kAttentionShards; ++factor) {
        // Without a log-sum-exp the sequence is whole; nor is there a backward
        // call.
        if (rule.factors[factor].kind == FactorKind::kWhole) continue;
        SetAxes(rule, factor, shards[factor], assignment.strategies[op]);
      }
    }
  }
}

}  // namespace meshwright
