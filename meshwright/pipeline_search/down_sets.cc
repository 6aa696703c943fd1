#include "meshwright/pipeline_search/down_sets.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace meshwright {
namespace {

using Lists = std::vector<std::vector<int32_t>>;

struct Neighbours {
  Lists before;
  Lists after;
};

Neighbours NeighboursOf(const StageGraph& graph) {
  Neighbours result{Lists(graph.nodes.size()), Lists(graph.nodes.size())};
  for (const StageGraph::Value& value : graph.values) {
    if (value.producer == kNoProducer) continue;
    for (const int32_t consumer : value.consumers) {
      result.before[consumer].push_back(value.producer);
      result.after[value.producer].push_back(consumer);
    }
  }
  for (Lists* lists : {&result.before, &result.after}) {
    for (std::vector<int32_t>& list : *lists) {
      std::ranges::sort(list);
      const auto rest = std::ranges::unique(list);
      list.erase(rest.begin(), rest.end());
    }
  }
  return result;
}

// A topological order that always takes the ready node of the lowest rank.
std::vector<int32_t> OrderBy(const Neighbours& neighbours,
                             const std::vector<int32_t>& rank) {
  using Item = std::pair<int32_t, int32_t>;
  std::priority_queue<Item, std::vector<Item>, std::greater<>> ready;
  std::vector<size_t> waiting;
  for (int32_t node = 0; node < std::ssize(rank); ++node) {
    waiting.push_back(neighbours.before[node].size());
    if (waiting[node] == 0) ready.push({rank[node], node});
  }
  std::vector<int32_t> order;
  while (!ready.empty()) {
    const int32_t node = ready.top().second;
    ready.pop();
    order.push_back(node);
    for (const int32_t next : neighbours.after[node]) {
      if (--waiting[next] == 0) ready.push({rank[next], next});
    }
  }
  return order;
}

// A topological order that prefers nodes that the last one made ready.
std::vector<int32_t> DepthFirst(const Neighbours& neighbours) {
  std::vector<size_t> waiting;
  std::vector<int32_t> ready;
  for (const std::vector<int32_t>& list : neighbours.before) {
    waiting.push_back(list.size());
  }
  for (int32_t node = static_cast<int32_t>(waiting.size()); node-- > 0;) {
    if (waiting[node] == 0) ready.push_back(node);
  }
  std::vector<int32_t> order;
  while (!ready.empty()) {
    const int32_t node = ready.back();
    ready.pop_back();
    order.push_back(node);
    for (const int32_t next : neighbours.after[node]) {
      if (--waiting[next] == 0) ready.push_back(next);
    }
  }
  return order;
}

}  // namespace

bool NodeSet::IsSubsetOf(const NodeSet& other) const {
  for (size_t i = 0; i < words_.size(); ++i) {
    if ((words_[i] & ~other.words_[i]) != 0) return false;
  }
  return true;
}

std::optional<std::vector<NodeSet>> AllDownSets(const StageGraph& graph,
                                                size_t limit) {
  const Neighbours neighbours = NeighboursOf(graph);
  // With the nodes that can be added.
  std::vector<std::pair<NodeSet, std::vector<int32_t>>> sets;
  absl::flat_hash_set<NodeSet> known;
  sets.emplace_back(NodeSet(graph.size()), std::vector<int32_t>());
  known.insert(sets[0].first);
  for (int32_t node = 0; node < graph.size(); ++node) {
    if (neighbours.before[node].empty()) sets[0].second.push_back(node);
  }
  for (size_t i = 0; i < sets.size(); ++i) {
    for (size_t j = 0; j < sets[i].second.size(); ++j) {
      const int32_t added = sets[i].second[j];
      NodeSet larger = sets[i].first;
      larger.Add(added);
      if (!known.insert(larger).second) continue;
      if (sets.size() == limit) return std::nullopt;
      std::vector<int32_t> ready = sets[i].second;
      std::erase(ready, added);
      for (const int32_t next : neighbours.after[added]) {
        if (std::ranges::all_of(neighbours.before[next], [&](int32_t needed) {
              return larger.Has(needed);
            })) {
          ready.push_back(next);
        }
      }
      sets.emplace_back(std::move(larger), std::move(ready));
    }
  }
  std::vector<NodeSet> result;
  for (auto& [set, ready] : sets) result.push_back(std::move(set));
  return result;
}

std::vector<NodeSet> DownSetsInOrder(const StageGraph& graph) {
  std::vector<NodeSet> sets = {NodeSet(graph.size())};
  for (int32_t node = 0; node < graph.size(); ++node) {
    sets.push_back(sets.back());
    sets.back().Add(node);
  }
  return sets;
}

std::vector<NodeSet> DownSetsOfOrders(const StageGraph& graph) {
  const Neighbours neighbours = NeighboursOf(graph);
  const int32_t size = graph.size();
  std::vector<int32_t> as_is(size);
  std::vector<int32_t> depth(size);
  std::vector<int32_t> late(size);  // Minus the distance to the end.
  for (int32_t node = 0; node < size; ++node) {
    as_is[node] = node;
    for (const int32_t before : neighbours.before[node]) {
      depth[node] = std::max(depth[node], depth[before] + 1);
    }
  }
  for (int32_t node = size; node-- > 0;) {
    for (const int32_t after : neighbours.after[node]) {
      late[node] = std::min(late[node], late[after] - 1);
    }
  }
  std::vector<NodeSet> result;
  absl::flat_hash_set<NodeSet> known;
  for (const std::vector<int32_t>& order :
       {OrderBy(neighbours, as_is), DepthFirst(neighbours),
        OrderBy(neighbours, late), OrderBy(neighbours, depth)}) {
    NodeSet set(size);
    if (known.insert(set).second) result.push_back(set);
    for (const int32_t node : order) {
      set.Add(node);
      if (known.insert(set).second) result.push_back(set);
    }
  }
  return result;
}

}  // namespace meshwright
