#include "meshwright/explain/explain_locally.h"

#include <algorithm>
#include <set>

namespace meshwright {

LocalView::LocalView(const PlanStudy& study)
    : problem_(study.problem().problem()),
      planned_(study.as_planned().nodes),
      groups_(study.model().groups.count()) {
  edges_of_.resize(problem_.nodes.size());
  for (size_t i = 0; i < problem_.edges.size(); ++i) {
    edges_of_[problem_.edges[i].a].push_back(static_cast<int32_t>(i));
    edges_of_[problem_.edges[i].b].push_back(static_cast<int32_t>(i));
  }
}

int64_t LocalView::Cell(const ProblemEdge& edge, int32_t a, int32_t b) const {
  const CostTable& table = problem_.tables[edge.table];
  return table.cells[static_cast<size_t>(a) * table.columns + b];
}

LocalCost LocalView::Of(GroupId group, int32_t option) const {
  LocalCost cost{.compute = problem_.nodes[group].costs[option]};
  const auto choice = [&](int32_t node) {
    return node == group ? option : planned_[node];
  };
  std::set<int32_t> shared;  // Nodes of values that several groups use.
  for (const int32_t index : edges_of_[group]) {
    const ProblemEdge& edge = problem_.edges[index];
    const int32_t other = edge.a == group ? edge.b : edge.a;
    if (other >= groups_) {
      shared.insert(other);
      continue;
    }
    cost.moves =
        AddCosts(cost.moves, Cell(edge, choice(edge.a), choice(edge.b)));
  }
  for (const int32_t node : shared) {
    int64_t best = kInfiniteCost;
    const std::vector<int64_t>& costs = problem_.nodes[node].costs;
    for (size_t i = 0; i < costs.size(); ++i) {
      const int32_t own = static_cast<int32_t>(i);
      int64_t sum = costs[i];
      for (const int32_t index : edges_of_[node]) {
        const ProblemEdge& edge = problem_.edges[index];
        sum = AddCosts(sum, Cell(edge, edge.a == node ? own : choice(edge.a),
                                 edge.b == node ? own : choice(edge.b)));
      }
      best = std::min(best, sum);
    }
    cost.moves = AddCosts(cost.moves, best);
  }
  return cost;
}

LocalCost LocalView::Of(const std::vector<GroupId>& groups,
                        const std::vector<int32_t>& nodes) const {
  LocalCost cost;
  std::set<int32_t> edges;
  std::set<int32_t> shared;
  for (const GroupId group : groups) {
    cost.compute =
        AddCosts(cost.compute, problem_.nodes[group].costs[nodes[group]]);
    for (const int32_t index : edges_of_[group]) {
      const ProblemEdge& edge = problem_.edges[index];
      edges.insert(index);
      for (const int32_t node : {edge.a, edge.b}) {
        // The reshard that computes the shared form.
        if (node >= groups_) shared.insert(node);
      }
    }
  }
  for (const int32_t node : shared) {
    for (const int32_t index : edges_of_[node]) {
      if (problem_.edges[index].b == node) edges.insert(index);
    }
  }
  for (const int32_t index : edges) {
    const ProblemEdge& edge = problem_.edges[index];
    cost.moves = AddCosts(cost.moves, Cell(edge, nodes[edge.a], nodes[edge.b]));
  }
  return cost;
}

}  // namespace meshwright
