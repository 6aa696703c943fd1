// Random small graphs, and their optimal stages by brute force.
#ifndef MESHWRIGHT_PIPELINE_SEARCH_STAGE_CASES_FOR_TEST_H_
#define MESHWRIGHT_PIPELINE_SEARCH_STAGE_CASES_FOR_TEST_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "meshwright/pipeline_search/stage_graph.h"

namespace meshwright {

struct BestStages {
  CutCost cost;
  double allowed = 0;
};

// Tries all assignments.
inline std::optional<BestStages> BruteForceStages(const StageGraph& graph,
                                                  const StageLimits& limits) {
  std::vector<CutCost> costs;
  std::vector<StageId> stages(graph.nodes.size());
  while (true) {
    if (CheckStages(graph, limits, stages).ok()) {
      costs.push_back(CostOf(graph, limits, stages));
    }
    size_t node = 0;
    while (node < stages.size() && ++stages[node] == limits.stages()) {
      stages[node++] = StageId(0);
    }
    if (node == stages.size()) break;
  }
  if (costs.empty()) return std::nullopt;
  double least = costs[0].balance;
  for (const CutCost& cost : costs) least = std::min(least, cost.balance);
  const double wanted = 1 + limits.tolerance;
  BestStages best{.allowed =
                      least <= wanted * (1 + 1e-9) ? wanted : least * wanted};
  std::optional<CutCost> found;
  for (const CutCost& cost : costs) {
    if (cost.balance > best.allowed * (1 + 1e-9)) continue;
    if (!found.has_value() || std::tie(cost.cut_bytes, cost.balance) <
                                  std::tie(found->cut_bytes, found->balance)) {
      found = cost;
    }
  }
  best.cost = *found;
  return best;
}

struct RandomStageOptions {
  int32_t nodes = 8;
  bool light = false;  // Most nodes have little work.
  bool fixed = false;
  bool groups = false;
};

inline StageGraph RandomStageGraph(std::mt19937& random,
                                   const RandomStageOptions& options) {
  const auto below = [&](int n) {
    return static_cast<int32_t>(random() % static_cast<unsigned>(n));
  };
  StageGraph graph;
  for (int32_t node = 0; node < options.nodes; ++node) {
    graph.nodes.push_back(
        {.work =
             options.light && below(3) != 0 ? 0.01 * below(3) : 1.0 + below(5),
         .held = 1 + below(4),
         .name = std::string(1, static_cast<char>('a' + node))});
    // Reads what was computed before, some of it far away.
    for (StageGraph::Value& value : graph.values) {
      if (below(4) == 0) value.consumers.push_back(node);
    }
    if (node > 0 && !graph.values.empty() &&
        (graph.values.back().consumers.empty() ||
         graph.values.back().consumers.back() != node)) {
      graph.values.back().consumers.push_back(node);
    }
    graph.values.push_back({.bytes = 1 + below(20),
                            .producer = below(6) == 0 ? kNoProducer : node,
                            .consumers = {}});
  }
  if (options.fixed) {
    graph.nodes[below(options.nodes / 2)].fixed = StageId(0);
    graph.nodes[options.nodes / 2 + below(options.nodes / 2)].fixed =
        StageId(1);
  }
  if (options.groups) {
    graph.groups = {{0, 2}, {options.nodes - 3, options.nodes - 1}};
  }
  return graph;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_STAGE_CASES_FOR_TEST_H_
