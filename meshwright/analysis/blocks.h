// Blocks: groups of ops around a contraction whose sharding follows from that
// of the contraction.
//
//   y = dot(x, w) [m,n]; z = gelu(y); dw = dot(x, dy); dx = dot(dy, w);
//   m' = 0.9 m + 0.1 dw; w' = w - m'
//   key y; the others follow: z [m,n], dw [k,n], dx [m,k], m' and w' [k,n]
//
// Every factor of every member is labelled with the factor of the key that it
// is sharded with, or unlabelled. So assigning axes to the key's factors gives
// a strategy to all members; and wherever one member reads another's complete
// result, that result has the sharding that the reader needs. There is no
// communication inside the block except for the partial sums over labels that a
// member contracts.
//
// Around the family of a key (gradients.h) a block contains what reads only
// from it (and from parameters and constants), then what only it reads and has
// at most one input from elsewhere: with more, resharding the result instead of
// the inputs could be cheaper, so that nothing follows.
#ifndef MESHWRIGHT_ANALYSIS_BLOCKS_H_
#define MESHWRIGHT_ANALYSIS_BLOCKS_H_

#include <cstdint>
#include <vector>

#include "meshwright/analysis/gradients.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

// The effect on the block of sharding one factor of the key.
struct BlockSplit {
  int32_t factor = 0;  // Of the key's rule.
  // Numbers of parts that divide this are possible in all members.
  int64_t parts = 0;
  // Members that contract it: their results are partial sums.
  int32_t contraction_sums = 0;
  int32_t other_sums = 0;
  // Some member cannot be sharded along it, or only by exchanging elements.
  bool blocked = false;

  bool operator==(const BlockSplit&) const = default;
};

struct Block {
  OpId key;
  std::vector<OpId> contractions;   // The key first, then its gradients.
  std::vector<LabelledOp> members;  // Including contractions, in op order.
  std::vector<BlockSplit> splits;   // By label, ascending.
  // Equal for equal blocks, wherever they are.
  uint64_t fingerprint = 0;
};

struct Blocks {
  std::vector<Block> blocks;      // In the order of their keys.
  std::vector<int32_t> block_of;  // By op; -1 for ops in none.
};

// Linear time. Requires: `rules` are by op of `graph`.
Blocks FindBlocks(const FlatGraph& graph, const std::vector<Rule>& rules);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_BLOCKS_H_
