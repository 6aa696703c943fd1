#include "meshwright/solve/core.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "meshwright/base/check.h"
#include "meshwright/solve/points.h"

namespace meshwright {
namespace {

void FinishCosts(Core* core) {
  core->double_cells.assign(core->cells.begin(), core->cells.end());
  core->largest_cost = 0;
  for (const int64_t cost : core->costs) {
    core->largest_cost = std::max(core->largest_cost, cost);
  }
  for (const int64_t cell : core->cells) {
    core->largest_cost = std::max(core->largest_cost, cell);
  }
}

void AddNode(const GraphNode& node, Core* core) {
  for (const int64_t cost : node.costs) {
    core->costs.push_back(std::min(cost, kCoreInfinity));
  }
  core->origin.insert(core->origin.end(), node.origin.begin(),
                      node.origin.end());
  core->first_option.push_back(static_cast<int32_t>(core->costs.size()));
  for (const PointPiece& piece : DisjointPieces(node.pieces, node.options())) {
    core->pieces.push_back({piece.first, piece.last, std::ssize(core->usage)});
    core->usage.insert(core->usage.end(), piece.usage.begin(),
                       piece.usage.end());
  }
  core->first_piece.push_back(static_cast<int32_t>(core->pieces.size()));
}

void AddLinks(Graph& graph, Core* core) {
  std::vector<int32_t> core_node(graph.node_count(), -1);
  for (int32_t v = 0; v < core->nodes; ++v) core_node[core->graph_node[v]] = v;
  absl::flat_hash_map<TableId, int64_t> where;
  core->first_link = {0};
  for (int32_t v = 0; v < core->nodes; ++v) {
    const int32_t node = core->graph_node[v];
    for (const int32_t e : graph.Edges(node)) {
      const TableId table = graph.Oriented(e, node);
      const auto [entry, is_new] = where.try_emplace(table, 0);
      if (is_new) {
        entry->second = std::ssize(core->cells);
        for (const int64_t cell : graph.tables()[table].cells) {
          core->cells.push_back(std::min(cell, kCoreInfinity));
        }
      }
      core->links.push_back({.other = core_node[graph.edge(e).Other(node)],
                             .cells = entry->second});
    }
    std::sort(
        core->links.begin() + core->first_link.back(), core->links.end(),
        [](const CoreLink& a, const CoreLink& b) { return a.other < b.other; });
    core->first_link.push_back(static_cast<int32_t>(core->links.size()));
  }
}

void PairLinks(Core* core) {
  for (int32_t v = 0; v < core->nodes; ++v) {
    for (int32_t l = core->first_link[v]; l < core->first_link[v + 1]; ++l) {
      CoreLink& link = core->links[l];
      link.slot = core->link_options;
      core->link_options += core->options(v);
      const auto begin = core->links.begin() + core->first_link[link.other];
      const auto end = core->links.begin() + core->first_link[link.other + 1];
      const auto back =
          std::ranges::lower_bound(begin, end, v, {}, &CoreLink::other);
      MW_CHECK(back != end && back->other == v);
      link.reverse = static_cast<int32_t>(back - core->links.begin());
      if (link.other < v) continue;
      core->work_per_pass +=
          int64_t{core->options(v)} * core->options(link.other);
    }
  }
}

}  // namespace

Core BuildCore(Graph& graph) {
  Core core;
  core.graph_node = graph.AliveNodes();
  core.nodes = static_cast<int32_t>(core.graph_node.size());
  core.first_option = {0};
  core.first_piece = {0};
  for (const int32_t v : core.graph_node) AddNode(graph.node(v), &core);
  AddLinks(graph, &core);
  PairLinks(&core);
  FinishCosts(&core);
  for (const Point& point : graph.points()) {
    core.capacity.push_back(point.capacity);
    core.point_time.push_back(point.time);
  }
  core.constant = graph.constant();
  core.work_per_pass += std::ssize(core.costs);
  return core;
}

void ClampCosts(Core& core, int64_t most) {
  for (int64_t& cost : core.costs) cost = std::min(cost, most);
  for (int64_t& cell : core.cells) cell = std::min(cell, most);
  FinishCosts(&core);
}

std::vector<int32_t> ChoiceInCore(const Core& core,
                                  absl::Span<const int32_t> assignment) {
  std::vector<int32_t> choice(core.nodes, 0);
  for (int32_t v = 0; v < core.nodes; ++v) {
    const auto begin = core.origin.begin() + core.first_option[v];
    const auto end = core.origin.begin() + core.first_option[v + 1];
    const int32_t want = assignment[core.graph_node[v]];
    const auto found = std::find(begin, end, want);
    if (found != end) choice[v] = static_cast<int32_t>(found - begin);
  }
  return choice;
}

Problem ProblemOfCore(const Core& core) {
  Problem problem;
  absl::flat_hash_map<std::pair<int64_t, int32_t>, int32_t> tables;
  const auto allowed = [](int64_t cost) {
    return cost >= kCoreInfinity ? kInfiniteCost : cost;
  };
  for (int32_t v = 0; v < core.nodes; ++v) {
    ProblemNode node;
    const int32_t options = core.options(v);
    for (int32_t a = 0; a < options; ++a) {
      node.costs.push_back(allowed(core.costs[core.first_option[v] + a]));
    }
    for (const CorePiece& piece : core.Pieces(v)) {
      const auto usage = core.usage.begin() + piece.usage;
      node.pieces.push_back(
          {piece.first, piece.last, {usage, usage + options}});
    }
    problem.nodes.push_back(std::move(node));
    for (const CoreLink& link : core.Links(v)) {
      if (link.other < v) continue;
      const int32_t columns = core.options(link.other);
      const auto [entry, is_new] = tables.try_emplace({link.cells, columns}, 0);
      if (is_new) {
        CostTable table = {options, columns, {}};
        const int64_t* const cells = core.Row(link, 0);
        for (int64_t i = 0; i < int64_t{options} * columns; ++i) {
          table.cells.push_back(allowed(cells[i]));
        }
        entry->second = problem.AddTable(std::move(table));
      }
      problem.edges.push_back({v, link.other, entry->second});
    }
  }
  for (int32_t p = 0; p < core.points(); ++p) {
    problem.limits.push_back(
        {.first = p, .last = p + 1, .limit = core.capacity[p]});
  }
  return problem;
}

std::vector<int32_t> ExpandCore(const Graph& graph, const Core& core,
                                absl::Span<const int32_t> choice) {
  std::vector<int32_t> by_node(graph.node_count(), 0);
  for (int32_t v = 0; v < core.nodes; ++v) {
    by_node[core.graph_node[v]] = choice[v];
  }
  return graph.Expand(by_node);
}

}  // namespace meshwright
