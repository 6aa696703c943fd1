#include "meshwright/solve/reduce.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "meshwright/solve/points.h"

namespace meshwright {
namespace {

// Keeps the options with drop[option] == 0. False if none is dropped.
bool Drop(Graph& graph, int32_t v, const std::vector<char>& drop) {
  std::vector<int32_t> keep;
  for (int32_t option = 0; option < std::ssize(drop); ++option) {
    if (!drop[option]) keep.push_back(option);
  }
  if (keep.size() == drop.size()) return false;
  if (keep.empty()) {
    graph.SetInfeasible(absl::StrCat("no option of node ", v, " can be taken"));
    return false;
  }
  graph.KeepOptions(v, keep);
  return true;
}

bool Separate(Graph& graph, int32_t e) {
  const GraphEdge edge = graph.edge(e);
  const TableFacts& facts = graph.tables().Facts(edge.table);
  if (!facts.separable) return false;
  for (int32_t i = 0; i < std::ssize(facts.row_part); ++i) {
    graph.AddCost(edge.a, i, facts.row_part[i]);
  }
  for (int32_t i = 0; i < std::ssize(facts.column_part); ++i) {
    graph.AddCost(edge.b, i, facts.column_part[i]);
  }
  graph.RemoveEdge(e);
  return true;
}

// Whether b uses at most as much as a, so that it may replace a.
bool UsesNoMore(const GraphNode& node, int32_t b, int32_t a) {
  return std::ranges::all_of(node.pieces, [&](const PointPiece& piece) {
    return piece.usage[b] <= piece.usage[a];
  });
}

constexpr int kSamples = 8;

// By option: kSamples costs of the node and its edges, given some choices of
// the neighbours. A quick way to see that one option does not dominate another.
std::vector<int64_t> SampleCosts(const GraphNode& node,
                                 absl::Span<const CostTable* const> tables) {
  std::vector<int64_t> samples(int64_t{node.options()} * kSamples);
  for (int32_t a = 0; a < node.options(); ++a) {
    for (int k = 0; k < kSamples; ++k) {
      int64_t& sum = samples[int64_t{a} * kSamples + k];
      sum = node.costs[a];
      for (size_t i = 0; i < tables.size(); ++i) {
        const CostTable& table = *tables[i];
        const int64_t x =
            (k * table.columns / kSamples + static_cast<int64_t>(i)) %
            table.columns;
        sum = AddCosts(sum, table.cells[int64_t{a} * table.columns + x]);
      }
    }
  }
  return samples;
}

bool NeverAbove(absl::Span<const int64_t> samples, int32_t b, int32_t a) {
  for (int k = 0; k < kSamples; ++k) {
    if (samples[int64_t{b} * kSamples + k] >
        samples[int64_t{a} * kSamples + k]) {
      return false;
    }
  }
  return true;
}

// By how much b can cost more than a: the maximum over the neighbours' choices
// that a allows.
int64_t MostExcess(const GraphNode& node,
                   absl::Span<const CostTable* const> tables, int32_t b,
                   int32_t a) {
  int64_t total = node.costs[b] - node.costs[a];
  for (const CostTable* table : tables) {
    const int64_t* const row_a = &table->cells[int64_t{a} * table->columns];
    const int64_t* const row_b = &table->cells[int64_t{b} * table->columns];
    int64_t most = INT64_MIN;
    for (int32_t x = 0; x < table->columns; ++x) {
      if (row_a[x] >= kInfiniteCost) continue;
      if (row_b[x] >= kInfiniteCost) return kInfiniteCost;
      most = std::max(most, row_b[x] - row_a[x]);
    }
    // Option a is forbidden altogether, which another reduction handles.
    if (most == INT64_MIN) return kInfiniteCost;
    total += most;
  }
  return total;
}

void RunWorkLists(Graph& graph, absl::FunctionRef<bool()> stop) {
  while (graph.infeasible().empty() && !stop()) {
    if (const int32_t e = graph.TakeEdge(); e >= 0) {
      ReduceEdge(graph, e);
      continue;
    }
    const int32_t v = graph.TakeNode();
    if (v < 0) return;
    if (DropInfiniteOptions(graph, v)) continue;
    if (EliminateSmallDegree(graph, v)) continue;
    DropDominatedOptions(graph, v);
  }
}

}  // namespace

bool ReduceEdge(Graph& graph, int32_t e) {
  const GraphEdge edge = graph.edge(e);
  for (const int32_t v : {edge.a, edge.b}) {
    const TableFacts& facts = graph.tables().Facts(graph.Oriented(e, v));
    if (!facts.dead_rows.empty()) return Drop(graph, v, facts.dead_rows);
  }
  if (Separate(graph, e)) return true;
  // If either end could be eliminated, it is the one with fewer edges.
  const bool a_first = graph.node(edge.a).degree >= graph.node(edge.b).degree;
  for (const int32_t u :
       {a_first ? edge.a : edge.b, a_first ? edge.b : edge.a}) {
    const TableFacts& facts = graph.tables().Facts(graph.Oriented(e, u));
    if (facts.implied.empty()) continue;
    graph.Fold(edge.Other(u), u, facts.implied);
    return true;
  }
  return false;
}

bool DropInfiniteOptions(Graph& graph, int32_t v) {
  std::vector<char> drop;
  for (const int64_t cost : graph.node(v).costs) {
    drop.push_back(cost >= kInfiniteCost);
  }
  return Drop(graph, v, drop);
}

bool DropDominatedOptions(Graph& graph, int32_t v) {
  const GraphNode& node = graph.node(v);
  const int32_t options = node.options();
  if (options == 1) return false;
  std::vector<const CostTable*> tables;
  for (const int32_t e : graph.Edges(v)) {
    tables.push_back(&graph.tables()[graph.Oriented(e, v)]);
  }
  const std::vector<int64_t> samples = SampleCosts(node, tables);
  std::vector<char> drop(options, 0);
  for (int32_t a = 0; a < options; ++a) {
    for (int32_t b = 0; b < options && !drop[a]; ++b) {
      if (a == b || drop[b]) continue;
      drop[a] = NeverAbove(samples, b, a) && UsesNoMore(node, b, a) &&
                MostExcess(node, tables, b, a) <= 0;
    }
  }
  return Drop(graph, v, drop);
}

bool EliminateSmallDegree(Graph& graph, int32_t v) {
  const GraphNode& node = graph.node(v);
  if (!node.pieces.empty() || node.degree > 2) return false;
  graph.Eliminate(v);
  return true;
}

void Reduce(Graph& graph, absl::FunctionRef<bool()> stop) {
  bool changed = true;
  while (changed && graph.infeasible().empty() && !stop()) {
    RunWorkLists(graph, stop);
    if (!graph.infeasible().empty()) return;
    changed = ReducePoints(graph);
  }
}

}  // namespace meshwright
