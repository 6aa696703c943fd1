#include "meshwright/solve/graph.h"

#include <algorithm>
#include <numeric>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "meshwright/base/check.h"
#include "meshwright/solve/min_plus.h"
#include "meshwright/solve/points.h"

namespace meshwright {
namespace {

std::pair<int32_t, int32_t> Key(int32_t u, int32_t v) {
  return {std::min(u, v), std::max(u, v)};
}

template <typename T>
std::vector<T> Select(const std::vector<T>& values,
                      absl::Span<const int32_t> indices) {
  std::vector<T> selected;
  selected.reserve(indices.size());
  for (const int32_t i : indices) selected.push_back(values[i]);
  return selected;
}

// The index of `option` in an ascending list that contains it.
int64_t IndexOf(const std::vector<int32_t>& options, int32_t option) {
  return std::ranges::lower_bound(options, option) - options.begin();
}

}  // namespace

Graph::Graph(const Problem& problem) {
  ProblemPoints found = FindPoints(problem);
  points_ = std::move(found.points);
  const auto count = static_cast<int32_t>(problem.nodes.size());
  nodes_.resize(count);
  node_waits_.assign(count, 0);
  for (int32_t v = 0; v < count; ++v) {
    GraphNode& node = nodes_[v];
    node.costs = problem.nodes[v].costs;
    for (int64_t& cost : node.costs) cost = std::min(cost, kInfiniteCost);
    node.origin.resize(node.costs.size());
    std::iota(node.origin.begin(), node.origin.end(), 0);
    node.pieces = std::move(found.pieces[v]);
    TouchNode(v);
  }
  std::vector<TableId> ids;
  for (CostTable table : problem.tables) {
    for (int64_t& cell : table.cells) cell = std::min(cell, kInfiniteCost);
    ids.push_back(tables_.Intern(std::move(table)));
  }
  for (const ProblemEdge& edge : problem.edges) {
    if (edge.a != edge.b) {
      AddEdge(edge.a, edge.b, ids[edge.table]);
      continue;
    }
    const CostTable& table = tables_[ids[edge.table]];
    for (int32_t option = 0; option < table.rows; ++option) {
      AddCost(edge.a, option,
              table.cells[int64_t{option} * table.columns + option]);
    }
  }
}

void Graph::SetInfeasible(std::string reason) {
  if (infeasible_.empty()) infeasible_ = std::move(reason);
}

int64_t Graph::ImpliedBy(int64_t time) const {
  const auto entry = implied_by_.find(time);
  return entry == implied_by_.end() ? time : entry->second;
}

const std::vector<int32_t>& Graph::Edges(int32_t v) {
  GraphNode& node = nodes_[v];
  if (std::ssize(node.edges) != node.degree) {
    std::erase_if(node.edges, [&](int32_t e) { return !edges_[e].alive; });
  }
  return node.edges;
}

TableId Graph::Oriented(int32_t e, int32_t v) {
  const GraphEdge& edge = edges_[e];
  return v == edge.a ? edge.table : tables_.Transpose(edge.table);
}

int32_t Graph::FindEdge(int32_t u, int32_t v) const {
  const auto entry = edge_of_.find(Key(u, v));
  return entry == edge_of_.end() ? -1 : entry->second;
}

void Graph::AddEdge(int32_t u, int32_t v, TableId table) {
  const int32_t existing = FindEdge(u, v);
  if (existing >= 0) {
    GraphEdge& edge = edges_[existing];
    edge.table =
        tables_.Sum(edge.table, edge.a == u ? table : tables_.Transpose(table));
    TouchEdge(existing);
    return;
  }
  const auto e = static_cast<int32_t>(edges_.size());
  edges_.push_back({.a = u, .b = v, .table = table});
  edge_waits_.push_back(0);
  edge_of_[Key(u, v)] = e;
  for (const int32_t end : {u, v}) {
    nodes_[end].edges.push_back(e);
    ++nodes_[end].degree;
  }
  TouchEdge(e);
}

void Graph::RemoveEdge(int32_t e) {
  GraphEdge& edge = edges_[e];
  edge.alive = false;
  edge_of_.erase(Key(edge.a, edge.b));
  for (const int32_t end : {edge.a, edge.b}) {
    --nodes_[end].degree;
    TouchNode(end);
  }
}

void Graph::AddCost(int32_t v, int32_t option, int64_t cost) {
  nodes_[v].costs[option] = AddCosts(nodes_[v].costs[option], cost);
  if (cost > 0) TouchNode(v);
}

void Graph::KeepOptions(int32_t v, absl::Span<const int32_t> options) {
  MW_CHECK(std::ranges::is_sorted(options) && !options.empty());
  GraphNode& node = nodes_[v];
  node.origin = Select(node.origin, options);
  node.costs = Select(node.costs, options);
  for (PointPiece& piece : node.pieces) {
    piece.usage = Select(piece.usage, options);
  }
  for (const int32_t e : Edges(v)) {
    const TableId table = tables_.SelectRows(Oriented(e, v), options);
    edges_[e].table = v == edges_[e].a ? table : tables_.Transpose(table);
    TouchEdge(e);
  }
  TouchNode(v);
}

void Graph::RemoveNode(int32_t v) {
  const std::vector<int32_t> edges = Edges(v);
  for (const int32_t e : edges) RemoveEdge(e);
  nodes_[v].alive = false;
  nodes_[v].pieces.clear();
}

void Graph::Fold(int32_t v, int32_t u, absl::Span<const int32_t> implied) {
  const GraphNode& from = nodes_[v];
  GraphNode& into = nodes_[u];
  Undo undo = {.node = v, .ends = {{u, into.origin}}};
  const CostTable& table = tables_[Oriented(FindEdge(u, v), u)];
  for (int32_t a = 0; a < into.options(); ++a) {
    const int32_t x = implied[a];
    undo.implied.push_back(x);
    AddCost(
        u, a,
        AddCosts(from.costs[x], table.cells[int64_t{a} * table.columns + x]));
  }
  undo_.push_back(std::move(undo));
  for (const PointPiece& piece : from.pieces) {
    into.pieces.push_back(
        {piece.first, piece.last, Select(piece.usage, implied)});
  }
  const std::vector<int32_t> edges = Edges(v);
  for (const int32_t e : edges) {
    const int32_t w = edges_[e].Other(v);
    if (w != u) AddEdge(u, w, tables_.SelectRows(Oriented(e, v), implied));
  }
  RemoveNode(v);
  TouchNode(u);
}

int32_t Graph::BestOption(int32_t v, absl::Span<const RowOf> rows) const {
  const GraphNode& node = nodes_[v];
  int64_t least = kInfiniteCost;
  int32_t best = 0;
  for (int32_t x = 0; x < node.options(); ++x) {
    int64_t total = node.costs[x];
    for (const RowOf& one : rows) {
      const CostTable& table = tables_[one.table];
      total = AddCosts(total, table.cells[one.row * table.columns + x]);
    }
    if (total >= least) continue;
    least = total;
    best = x;
  }
  return best;
}

void Graph::EliminateOne(int32_t v, int32_t e) {
  const int32_t u = edges_[e].Other(v);
  const GraphNode& node = nodes_[v];
  std::vector<int64_t> costs(nodes_[u].options());
  MinPlus(node.costs.data(), tables_[Oriented(e, v)].cells.data(),
          node.options(), nodes_[u].options(), costs.data());
  for (int32_t a = 0; a < std::ssize(costs); ++a) AddCost(u, a, costs[a]);
  undo_.push_back({.node = v, .ends = {{u, nodes_[u].origin, Oriented(e, u)}}});
  RemoveNode(v);
}

void Graph::EliminateTwo(int32_t v, int32_t e, int32_t f) {
  const int32_t u = edges_[e].Other(v);
  const int32_t w = edges_[f].Other(v);
  const GraphNode& node = nodes_[v];
  Undo undo = {.node = v,
               .ends = {{u, nodes_[u].origin, Oriented(e, u)},
                        {w, nodes_[w].origin, Oriented(f, w)}}};
  const CostTable& to_w = tables_[Oriented(f, v)];
  const CostTable& from_u = tables_[undo.ends[0].table];
  CostTable joined = {nodes_[u].options(), nodes_[w].options(), {}};
  joined.cells.resize(int64_t{joined.rows} * joined.columns);
  std::vector<int64_t> costs(node.options());
  for (int32_t a = 0; a < joined.rows; ++a) {
    for (int32_t x = 0; x < node.options(); ++x) {
      costs[x] = AddCosts(node.costs[x],
                          from_u.cells[int64_t{a} * from_u.columns + x]);
    }
    MinPlus(costs.data(), to_w.cells.data(), node.options(), joined.columns,
            &joined.cells[int64_t{a} * joined.columns]);
  }
  undo_.push_back(std::move(undo));
  RemoveNode(v);
  AddEdge(u, w, tables_.Intern(std::move(joined)));
}

void Graph::Eliminate(int32_t v) {
  MW_CHECK(nodes_[v].pieces.empty() && nodes_[v].degree <= 2);
  const std::vector<int32_t> edges = Edges(v);
  if (edges.size() == 2) return EliminateTwo(v, edges[0], edges[1]);
  if (edges.size() == 1) return EliminateOne(v, edges[0]);
  const int64_t cost = nodes_[v].costs[BestOption(v, {})];
  constant_ = AddCosts(constant_, cost);
  if (constant_ >= kInfiniteCost) {
    SetInfeasible(absl::StrCat("no option of node ", v, " can be taken"));
  }
  undo_.push_back({.node = v});
  RemoveNode(v);
}

void Graph::TouchNode(int32_t v) {
  if (node_waits_[v] || !nodes_[v].alive) return;
  node_waits_[v] = 1;
  node_work_.push_back(v);
}

void Graph::TouchEdge(int32_t e) {
  TouchNode(edges_[e].a);
  TouchNode(edges_[e].b);
  if (edge_waits_[e]) return;
  edge_waits_[e] = 1;
  edge_work_.push_back(e);
}

int32_t Graph::TakeEdge() {
  while (!edge_work_.empty()) {
    const int32_t e = edge_work_.front();
    edge_work_.pop_front();
    edge_waits_[e] = 0;
    if (edges_[e].alive) return e;
  }
  return -1;
}

int32_t Graph::TakeNode() {
  while (!node_work_.empty()) {
    const int32_t v = node_work_.front();
    node_work_.pop_front();
    node_waits_[v] = 0;
    if (nodes_[v].alive) return v;
  }
  return -1;
}

std::vector<int32_t> Graph::Expand(absl::Span<const int32_t> choice) const {
  std::vector<int32_t> assignment(nodes_.size(), 0);
  for (int32_t v = 0; v < node_count(); ++v) {
    if (nodes_[v].alive) assignment[v] = nodes_[v].origin[choice[v]];
  }
  for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) {
    absl::InlinedVector<RowOf, 2> rows;
    for (const End& end : undo->ends) {
      rows.push_back({end.table, IndexOf(end.options, assignment[end.node])});
    }
    const int32_t option = undo->implied.empty() ? BestOption(undo->node, rows)
                                                 : undo->implied[rows[0].row];
    assignment[undo->node] = nodes_[undo->node].origin[option];
  }
  return assignment;
}

std::vector<int32_t> Graph::AliveNodes() const {
  std::vector<int32_t> alive;
  for (int32_t v = 0; v < node_count(); ++v) {
    if (nodes_[v].alive) alive.push_back(v);
  }
  return alive;
}

}  // namespace meshwright
