#include "meshwright/analysis/block_kinds.h"

#include "absl/container/flat_hash_map.h"

namespace meshwright {
namespace {

Work WorkOf(const FlatOp& op, const ModuleWork& work) {
  if (op.kind != OpKind::kCompute) return Work();
  return op.repeats * work.Of(*op.instruction);
}

// A parameter that is a tuple has one op per array.
double ParameterBytes(const Rule& rule, ElementType type) {
  double bits = static_cast<double>(BitWidth(type));
  for (const Factor& factor : rule.factors) {
    bits *= static_cast<double>(factor.size);
  }
  return bits / 8;
}

BlockKind KindOf(const Block& block, const FlatGraph& graph,
                 const std::vector<Rule>& rules, const ModuleWork& work) {
  BlockKind kind{.label = graph.ops[block.key].instruction->name,
                 .contractions = std::ssize(block.contractions),
                 .ops = std::ssize(block.members),
                 .splits = block.splits,
                 .factors = rules[block.key].factors};
  for (const LabelledOp& member : block.members) {
    const FlatOp& op = graph.ops[member.op];
    kind.work += WorkOf(op, work);
    if (op.kind != OpKind::kParameter) continue;
    ++kind.parameters;
    kind.parameter_bytes += ParameterBytes(
        rules[member.op], graph.values[op.first_result].shape->element_type);
  }
  return kind;
}

}  // namespace

BlockSummary SummarizeBlocks(const FlatGraph& graph,
                             const std::vector<Rule>& rules,
                             const Blocks& blocks, const ModuleWork& work) {
  BlockSummary summary;
  absl::flat_hash_map<uint64_t, size_t> kinds;
  for (const Block& block : blocks.blocks) {
    const auto [it, is_new] =
        kinds.try_emplace(block.fingerprint, summary.kinds.size());
    if (is_new) summary.kinds.push_back(KindOf(block, graph, rules, work));
    ++summary.kinds[it->second].count;
  }
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (!graph.ops[i].live) continue;
    const Work of = WorkOf(graph.ops[i], work);
    ++summary.ops;
    summary.work += of;
    if (blocks.block_of[i] < 0) continue;
    ++summary.block_ops;
    summary.block_work += of;
  }
  return summary;
}

}  // namespace meshwright
