#include "meshwright/analysis/block_kinds.h"

#include "absl/container/flat_hash_map.h"

namespace meshwright {
namespace {

Work WorkOf(const OpGraph::Op& op, const ModuleWork& work) {
  if (op.kind != OpGraph::Kind::kCompute) return Work();
  return op.repeats * work.Of(*op.instruction);
}

// Parameters that are tuples have an op per array.
double ParameterBytes(const OpGraph::Op& op) {
  double bits = static_cast<double>(BitWidth(op.element_type));
  for (const Factor& factor : op.rule->factors) {
    bits *= static_cast<double>(factor.size);
  }
  return bits / 8;
}

BlockKind KindOf(const Block& block, const OpGraph& graph,
                 const ModuleWork& work) {
  const OpGraph::Op& key = graph.ops[block.key];
  BlockKind kind{.label = key.instruction->name,
                 .contractions = std::ssize(block.contractions),
                 .ops = std::ssize(block.members),
                 .splits = block.splits,
                 .factors = key.rule->factors};
  for (const LabelledOp& member : block.members) {
    const OpGraph::Op& op = graph.ops[member.op];
    kind.work += WorkOf(op, work);
    if (op.kind != OpGraph::Kind::kParameter) continue;
    ++kind.parameters;
    kind.parameter_bytes += ParameterBytes(op);
  }
  return kind;
}

}  // namespace

BlockSummary SummarizeBlocks(const OpGraph& graph, const Blocks& blocks,
                             const ModuleWork& work) {
  BlockSummary summary;
  absl::flat_hash_map<uint64_t, size_t> kinds;
  for (const Block& block : blocks.blocks) {
    const auto [it, is_new] =
        kinds.try_emplace(block.fingerprint, summary.kinds.size());
    if (is_new) summary.kinds.push_back(KindOf(block, graph, work));
    ++summary.kinds[it->second].count;
  }
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (graph.ops[i].kind == OpGraph::Kind::kDead) continue;
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
