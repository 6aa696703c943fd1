// Random small problems, and their optimum by brute force.
#ifndef MESHWRIGHT_SOLVE_BRUTE_FORCE_FOR_TEST_H_
#define MESHWRIGHT_SOLVE_BRUTE_FORCE_FOR_TEST_H_

#include <algorithm>
#include <optional>
#include <vector>

#include "meshwright/solve/problem.h"
#include "meshwright/solve/random.h"

namespace meshwright {

struct RandomProblemOptions {
  int nodes = 7;
  int most_options = 4;
  int edges = 10;
  bool limited = true;
  double forbidden = 0.15;  // Share of cells.
};

inline Problem RandomProblem(const RandomProblemOptions& options,
                             uint64_t seed) {
  Random random(seed);
  Problem problem;
  int64_t total_usage = 0;
  for (int v = 0; v < options.nodes; ++v) {
    ProblemNode node;
    const int count = 1 + random.Below(options.most_options);
    for (int a = 0; a < count; ++a) node.costs.push_back(random.Below(50));
    const int pieces = options.limited ? 1 + random.Below(2) : 0;
    for (int i = 0; i < pieces; ++i) {
      UsagePiece piece;
      piece.first = random.Below(10);
      piece.last = piece.first + random.Below(6);
      for (int a = 0; a < count; ++a) piece.usage.push_back(random.Below(30));
      total_usage += std::ranges::max(piece.usage);
      node.pieces.push_back(std::move(piece));
    }
    problem.nodes.push_back(std::move(node));
  }
  for (int e = 0; e < options.edges; ++e) {
    const int32_t a = random.Below(options.nodes);
    const int32_t b = random.Below(options.nodes);
    CostTable table;
    table.rows = static_cast<int32_t>(problem.nodes[a].costs.size());
    table.columns = static_cast<int32_t>(problem.nodes[b].costs.size());
    for (int i = 0; i < table.rows * table.columns; ++i) {
      table.cells.push_back(random.Unit() < options.forbidden
                                ? kInfiniteCost + random.Below(3)
                                : random.Below(60));
    }
    problem.edges.push_back({a, b, problem.AddTable(std::move(table))});
  }
  if (options.limited) {
    problem.limits.push_back({.limit = total_usage / 5 + random.Below(20)});
    if (random.Below(3) == 0) {
      problem.limits.push_back(
          {.first = 3, .last = 7, .limit = total_usage / 6});
    }
  }
  return problem;
}

// The cheapest allowed assignment; nullopt if none is allowed.
inline std::optional<std::vector<int32_t>> BruteForce(const Problem& problem) {
  std::vector<int32_t> now(problem.nodes.size(), 0);
  std::optional<std::vector<int32_t>> best;
  int64_t best_cost = kInfiniteCost;
  while (true) {
    const Evaluation evaluation = Evaluate(problem, now);
    if (evaluation.allowed() && evaluation.cost < best_cost) {
      best_cost = evaluation.cost;
      best = now;
    }
    size_t v = 0;
    while (v < now.size() && ++now[v] == std::ssize(problem.nodes[v].costs)) {
      now[v++] = 0;
    }
    if (v == now.size()) return best;
  }
}

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_BRUTE_FORCE_FOR_TEST_H_
