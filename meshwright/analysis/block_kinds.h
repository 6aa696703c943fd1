// Equal blocks counted together, with the cost of one of them.
//
//   gpt, 96 layers: 577 blocks of 10 kinds
//   {dot.1736 x96, 3 contractions, 31 ops, 11.7e15 flops, 4 parameters}
#ifndef MESHWRIGHT_ANALYSIS_BLOCK_KINDS_H_
#define MESHWRIGHT_ANALYSIS_BLOCK_KINDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "meshwright/analysis/blocks.h"
#include "meshwright/analysis/flops.h"

namespace meshwright {

struct BlockKind {
  std::string label;  // The key of the first block.
  int64_t count = 0;
  int64_t contractions = 0;  // Of one block, like all of the following.
  int64_t ops = 0;
  Work work;  // Per step: ops in loops count as often as they run.
  int64_t parameters = 0;
  double parameter_bytes = 0;
  std::vector<BlockSplit> splits;
  std::vector<Factor> factors;  // Of the key, in the numbering of `splits`.
};

struct BlockSummary {
  std::vector<BlockKind> kinds;  // In the order of their first blocks.
  int64_t ops = 0;               // Of the graph; and of these, in blocks.
  int64_t block_ops = 0;
  Work work;  // The same of work.
  Work block_work;
};

// Requires: `rules` are by op of `graph`, `blocks` are of both, `work` is of
// their module.
BlockSummary SummarizeBlocks(const FlatGraph& graph,
                             const std::vector<Rule>& rules,
                             const Blocks& blocks, const ModuleWork& work);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_BLOCK_KINDS_H_
