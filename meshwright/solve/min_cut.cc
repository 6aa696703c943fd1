// Dinic's algorithm: blocking flows along shortest paths, until the sink can no
// longer be reached.
#include "meshwright/solve/min_cut.h"

#include <algorithm>

namespace meshwright {

int32_t MinCut::AddNode() {
  edges_of_.emplace_back();
  return static_cast<int32_t>(edges_of_.size()) - 1;
}

void MinCut::AddEdge(int32_t from, int32_t to, int64_t cost) {
  edges_of_[from].push_back(static_cast<int32_t>(edges_.size()));
  edges_.push_back({to, cost});
  edges_of_[to].push_back(static_cast<int32_t>(edges_.size()));
  edges_.push_back({from, 0});
}

bool MinCut::FindLevels() {
  levels_.assign(edges_of_.size(), -1);
  levels_[source()] = 0;
  std::vector<int32_t> queue = {source()};
  for (size_t i = 0; i < queue.size(); ++i) {
    for (const int32_t id : edges_of_[queue[i]]) {
      const Edge& edge = edges_[id];
      if (edge.left == 0 || levels_[edge.to] >= 0) continue;
      levels_[edge.to] = levels_[queue[i]] + 1;
      queue.push_back(edge.to);
    }
  }
  return levels_[sink()] >= 0;
}

// Advances one level at a time, and retreats from dead ends.
void MinCut::Augment() {
  next_.assign(edges_of_.size(), 0);
  std::vector<int32_t> path;  // Edges.
  int32_t at = source();
  while (true) {
    if (at == sink()) {
      int64_t flow = kNever;
      for (const int32_t id : path) flow = std::min(flow, edges_[id].left);
      for (const int32_t id : path) {
        edges_[id].left -= flow;
        edges_[id ^ 1].left += flow;
      }
      path.clear();
      at = source();
      continue;
    }
    if (next_[at] < edges_of_[at].size()) {
      const int32_t id = edges_of_[at][next_[at]];
      if (edges_[id].left > 0 && levels_[edges_[id].to] == levels_[at] + 1) {
        path.push_back(id);
        at = edges_[id].to;
      } else {
        ++next_[at];
      }
      continue;
    }
    if (path.empty()) return;
    at = edges_[path.back() ^ 1].to;
    ++next_[at];
    path.pop_back();
  }
}

std::vector<bool> MinCut::Solve() {
  while (FindLevels()) Augment();
  std::vector<bool> with_source(edges_of_.size());
  for (size_t i = 0; i < with_source.size(); ++i) {
    with_source[i] = levels_[i] >= 0;
  }
  return with_source;
}

}  // namespace meshwright
