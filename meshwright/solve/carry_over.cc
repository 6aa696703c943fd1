// Carries prices and messages over from a core to the core of the reduced
// graph.
#include <algorithm>

#include "meshwright/solve/dual.h"

namespace meshwright {
namespace {

// The price of a dropped point is added to that of the point that implies it.
void CarryPrices(const Graph& graph, const Core& before, const Prices& prices,
                 const Core& core, Prices& carried) {
  absl::flat_hash_map<int64_t, int32_t> position;
  for (int32_t p = 0; p < core.points(); ++p) {
    position[core.point_time[p]] = p;
  }
  for (int32_t p = 0; p < before.points(); ++p) {
    int64_t time = before.point_time[p];
    auto found = position.find(time);
    // Chains are short; the limit guards against cycles of implied points.
    for (int hops = 0; found == position.end() && hops < 100; ++hops) {
      time = graph.ImpliedBy(time);
      found = position.find(time);
    }
    if (found != position.end()) carried[found->second] += prices[p];
  }
}

}  // namespace

DualStart CarryOver(const Graph& graph, const Core& before,
                    const DualStart& start, const Core& core) {
  DualStart carried = FreshStart(core);
  carried.step = start.step;
  carried.softness = start.softness;
  CarryPrices(graph, before, start.prices, core, carried.prices);
  std::vector<int32_t> old_node(graph.node_count(), -1);
  for (int32_t v = 0; v < before.nodes; ++v) old_node[before.graph_node[v]] = v;
  for (int32_t v = 0; v < core.nodes; ++v) {
    const int32_t old_v = old_node[core.graph_node[v]];
    const auto links = before.Links(old_v);
    for (const CoreLink& link : core.Links(v)) {
      const int32_t old_w = old_node[core.graph_node[link.other]];
      const auto old_link =
          std::ranges::lower_bound(links, old_w, {}, &CoreLink::other);
      if (old_link == links.end() || old_link->other != old_w) continue;
      // Options only disappear; the others keep their order.
      int32_t b = before.first_option[old_v];
      for (int32_t a = 0; a < core.options(v); ++a, ++b) {
        const int32_t origin = core.origin[core.first_option[v] + a];
        while (before.origin[b] != origin) ++b;
        carried.messages[link.slot + a] =
            start.messages[old_link->slot + b - before.first_option[old_v]];
      }
    }
  }
  return carried;
}

}  // namespace meshwright
