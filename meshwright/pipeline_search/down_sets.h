// Down-sets: sets of nodes that contain, with a node, all its predecessors. A
// stage is the difference of two consecutive down-sets.
//
//   a -> b, a -> c:   {}, {a}, {a, b}, {a, c}, {a, b, c}
//
// A chain with skip connections has about as few as a chain; with parallel
// branches their numbers multiply.
#ifndef MESHWRIGHT_PIPELINE_SEARCH_DOWN_SETS_H_
#define MESHWRIGHT_PIPELINE_SEARCH_DOWN_SETS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "meshwright/pipeline_search/stage_graph.h"

namespace meshwright {

// A set of nodes.
class NodeSet {
 public:
  explicit NodeSet(int32_t size) : words_((size + 63) / 64) {}

  bool Has(int32_t node) const {
    return (words_[node / 64] >> (node % 64) & 1) != 0;
  }
  void Add(int32_t node) { words_[node / 64] |= uint64_t{1} << (node % 64); }
  bool IsSubsetOf(const NodeSet& other) const;

  bool operator==(const NodeSet&) const = default;
  template <typename H>
  friend H AbslHashValue(H state, const NodeSet& set) {
    return H::combine(std::move(state), set.words_);
  }

 private:
  std::vector<uint64_t> words_;
};

// All down-sets; nullopt if there are more than `limit`.
std::optional<std::vector<NodeSet>> AllDownSets(const StageGraph& graph,
                                                size_t limit);

// The prefixes of the nodes' own order.
std::vector<NodeSet> DownSetsInOrder(const StageGraph& graph);

// The prefixes of several topological orders: the nodes' own; depth first; as
// late as possible; by distance from the start.
std::vector<NodeSet> DownSetsOfOrders(const StageGraph& graph);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_DOWN_SETS_H_
