#include "meshwright/pipeline_search/stage_clusters.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"

namespace meshwright {
namespace {

using Lists = std::vector<std::vector<int32_t>>;

void SortUnique(std::vector<int32_t>& list) {
  std::ranges::sort(list);
  const auto rest = std::ranges::unique(list);
  list.erase(rest.begin(), rest.end());
}

// By node: those that consume what it makes, each once.
Lists Successors(const StageGraph& graph) {
  Lists successors(graph.nodes.size());
  for (const StageGraph::Value& value : graph.values) {
    if (value.producer == kNoProducer) continue;
    for (const int32_t consumer : value.consumers) {
      if (consumer != value.producer) {
        successors[value.producer].push_back(consumer);
      }
    }
  }
  for (std::vector<int32_t>& list : successors) SortUnique(list);
  return successors;
}

// By node: a number for its strongly connected component (Tarjan's algorithm,
// without recursion). Requires no order of nodes.
std::vector<int32_t> Components(const Lists& successors) {
  const int32_t size = static_cast<int32_t>(successors.size());
  std::vector<int32_t> component(size, -1);
  std::vector<int32_t> index(size, -1);
  std::vector<int32_t> low(size);
  std::vector<int32_t> open;
  std::vector<std::pair<int32_t, size_t>> path;  // With successors seen.
  int32_t next_index = 0;
  int32_t next_component = 0;
  for (int32_t start = 0; start < size; ++start) {
    if (index[start] >= 0) continue;
    path.push_back({start, 0});
    while (!path.empty()) {
      const auto [node, seen] = path.back();
      if (seen == 0) {
        index[node] = low[node] = next_index++;
        open.push_back(node);
      }
      if (seen < successors[node].size()) {
        ++path.back().second;
        const int32_t next = successors[node][seen];
        if (index[next] < 0) {
          path.push_back({next, 0});
        } else if (component[next] < 0) {
          low[node] = std::min(low[node], index[next]);
        }
        continue;
      }
      if (low[node] == index[node]) {
        while (component[node] < 0) {
          component[open.back()] = next_component;
          open.pop_back();
        }
        ++next_component;
      }
      path.pop_back();
      if (!path.empty()) {
        int32_t& before = low[path.back().first];
        before = std::min(before, low[node]);
      }
    }
  }
  return component;
}

// Clusters by their first node, producers first.
std::vector<int32_t> RunOrder(const Lists& successors) {
  const int32_t size = static_cast<int32_t>(successors.size());
  std::vector<int32_t> waiting(size);
  for (const std::vector<int32_t>& list : successors) {
    for (const int32_t next : list) ++waiting[next];
  }
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
  for (int32_t node = 0; node < size; ++node) {
    if (waiting[node] == 0) ready.push(node);
  }
  std::vector<int32_t> position(size);
  for (int32_t next_position = 0; !ready.empty(); ++next_position) {
    const int32_t node = ready.top();
    ready.pop();
    position[node] = next_position;
    for (const int32_t next : successors[node]) {
      if (--waiting[next] == 0) ready.push(next);
    }
  }
  return position;
}

// The graph of parts, in the order of their first nodes. Parts may form
// cycles.
StageGraph Contract(const StageGraph& graph, const std::vector<int32_t>& part,
                    int32_t parts) {
  StageGraph result;
  result.nodes.resize(parts);
  for (int32_t node = 0; node < graph.size(); ++node) {
    const StageGraph::Node& from = graph.nodes[node];
    StageGraph::Node& to = result.nodes[part[node]];
    to.work += from.work;
    to.held += from.held;
    if (to.fixed == kAnyStage) to.fixed = from.fixed;
    if (to.name.empty()) to.name = from.name;
  }
  for (const StageGraph::Value& value : graph.values) {
    StageGraph::Value merged{.bytes = value.bytes};
    if (value.producer != kNoProducer) merged.producer = part[value.producer];
    for (const int32_t consumer : value.consumers) {
      if (part[consumer] != merged.producer) {
        merged.consumers.push_back(part[consumer]);
      }
    }
    SortUnique(merged.consumers);
    const size_t places =
        merged.consumers.size() + (merged.producer == kNoProducer ? 0 : 1);
    if (places > 1) result.values.push_back(std::move(merged));
  }
  return result;
}

// Numbers by the order in which they first occur.
int32_t Renumber(std::vector<int32_t>& numbers) {
  std::vector<int32_t> names(numbers.size(), -1);
  int32_t count = 0;
  for (int32_t& number : numbers) {
    if (names[number] < 0) names[number] = count++;
    number = names[number];
  }
  return count;
}

// `part` by cluster of `from`. Requires: no cycles.
StageClusters ContractClusters(const StageClusters& from,
                               std::vector<int32_t> part) {
  const int32_t parts = Renumber(part);
  const std::vector<int32_t> position =
      RunOrder(Successors(Contract(from.graph, part, parts)));
  for (int32_t& number : part) number = position[number];
  StageClusters result{.graph = Contract(from.graph, part, parts),
                       .cluster_of = from.cluster_of,
                       .unmoved_work = {},
                       .slack = from.slack,
                       .merges = from.merges};
  for (int32_t& cluster : result.cluster_of) cluster = part[cluster];
  return result;
}

// A merge that is about to happen.
struct Merge {
  int32_t moved = 0;
  int32_t into = 0;
  int64_t added = 0;  // Bytes.
};

// One round of merges, no cluster in two of them.
class MergeRound {
 public:
  MergeRound(const StageGraph& graph, const ClusterOptions& options)
      : graph_(graph),
        options_(options),
        made_(graph.nodes.size()),
        read_(graph.nodes.size()) {
    for (int32_t id = 0; id < std::ssize(graph.values); ++id) {
      const StageGraph::Value& value = graph.values[id];
      if (value.producer != kNoProducer) made_[value.producer].push_back(id);
      for (const int32_t consumer : value.consumers) {
        read_[consumer].push_back(id);
      }
    }
  }

  std::vector<Merge> Find() const {
    std::vector<Merge> merges;
    std::vector<bool> touched(graph_.nodes.size());
    for (int32_t node = 0; node < graph_.size(); ++node) {
      if (touched[node] || graph_.nodes[node].work > options_.moved_work) {
        continue;
      }
      for (const std::optional<Merge>& merge : {ToUser(node), ToMaker(node)}) {
        if (!merge.has_value() || touched[merge->into] ||
            merge->added > options_.added_bytes || !FixedAlike(*merge)) {
          continue;
        }
        touched[node] = touched[merge->into] = true;
        merges.push_back(*merge);
        break;
      }
    }
    return merges;
  }

 private:
  bool FixedAlike(const Merge& merge) const {
    const StageId fixed = graph_.nodes[merge.moved].fixed;
    return fixed == kAnyStage || fixed == graph_.nodes[merge.into].fixed;
  }

  std::optional<Merge> ToUser(int32_t node) const {
    Merge merge{.moved = node, .into = -1};
    int64_t saved = 0;
    for (const int32_t id : made_[node]) {
      const StageGraph::Value& value = graph_.values[id];
      for (const int32_t consumer : value.consumers) {
        if (merge.into >= 0 && merge.into != consumer) return std::nullopt;
        merge.into = consumer;
      }
      saved += value.bytes;
    }
    if (merge.into < 0) return std::nullopt;
    for (const int32_t id : read_[node]) {
      // A weight that is used elsewhere too may have to reach one stage more.
      const auto& others = read_[merge.into];
      if (!std::ranges::binary_search(others, id)) {
        merge.added += graph_.values[id].bytes;
      }
    }
    merge.added = std::max<int64_t>(0, merge.added - saved);
    return merge;
  }

  std::optional<Merge> ToMaker(int32_t node) const {
    Merge merge{.moved = node, .into = -1};
    int64_t saved = 0;
    for (const int32_t id : read_[node]) {
      const StageGraph::Value& value = graph_.values[id];
      if (value.producer == kNoProducer) {
        merge.added += value.bytes;
        continue;
      }
      if (merge.into >= 0 && merge.into != value.producer) return std::nullopt;
      merge.into = value.producer;
      if (value.consumers.size() == 1) saved += value.bytes;
    }
    if (merge.into < 0) return std::nullopt;
    for (const int32_t id : made_[node]) merge.added += graph_.values[id].bytes;
    merge.added = std::max<int64_t>(0, merge.added - saved);
    return merge;
  }

  const StageGraph& graph_;
  const ClusterOptions& options_;
  Lists made_;  // By node: values, in order.
  Lists read_;
};

}  // namespace

absl::StatusOr<StageClusters> MergeGroups(const StageGraph& graph) {
  StageClusters single{.graph = graph};
  single.cluster_of.resize(graph.nodes.size());
  std::iota(single.cluster_of.begin(), single.cluster_of.end(), 0);
  std::vector<int32_t> part = single.cluster_of;
  if (!graph.groups.empty()) {
    // A cycle through a group makes its nodes one component.
    Lists successors = Successors(graph);
    for (const std::vector<int32_t>& group : graph.groups) {
      for (size_t i = 0; i < group.size(); ++i) {
        successors[group[i]].push_back(group[(i + 1) % group.size()]);
      }
    }
    part = Components(successors);
  }
  StageClusters result = ContractClusters(single, part);
  for (int32_t node = 0; node < graph.size(); ++node) {
    const StageGraph::Node& cluster =
        result.graph.nodes[result.cluster_of[node]];
    const StageId fixed = graph.nodes[node].fixed;
    if (fixed != kAnyStage && fixed != cluster.fixed) {
      return absl::InvalidArgumentError(absl::StrCat(
          graph.nodes[node].name, " is to be on stage ", int{fixed}, ", but ",
          cluster.name, ", with which it belongs together, on stage ",
          int{cluster.fixed}));
    }
  }
  // Later than what comes before.
  std::vector<int32_t> latest(result.graph.nodes.size(), -1);  // A node.
  const Lists successors = Successors(result.graph);
  const auto stage = [&](int32_t node) {
    return node < 0 ? kAnyStage : result.graph.nodes[node].fixed;
  };
  for (int32_t node = 0; node < result.graph.size(); ++node) {
    const int32_t before = latest[node];
    if (stage(node) != kAnyStage) {
      if (stage(before) > stage(node)) {
        return absl::InvalidArgumentError(absl::StrCat(
            result.graph.nodes[node].name, " is to be on stage ",
            int{stage(node)}, ", but needs ", result.graph.nodes[before].name,
            " on stage ", int{stage(before)}));
      }
      latest[node] = node;
    }
    for (const int32_t next : successors[node]) {
      if (stage(latest[node]) > stage(latest[next])) {
        latest[next] = latest[node];
      }
    }
  }
  for (const StageGraph::Node& node : result.graph.nodes) {
    result.unmoved_work.push_back(node.work);
  }
  return result;
}

StageClusters MergeLight(const StageClusters& clusters,
                         const ClusterOptions& options) {
  StageClusters result = clusters;
  while (true) {
    const std::vector<Merge> merges = MergeRound(result.graph, options).Find();
    if (merges.empty()) return result;
    std::vector<int32_t> part(result.graph.nodes.size());
    std::iota(part.begin(), part.end(), 0);
    std::vector<double> unmoved = result.unmoved_work;
    int64_t slack = result.slack;
    std::vector<int32_t> node_of(result.graph.nodes.size());
    for (int32_t node = 0; node < std::ssize(result.cluster_of); ++node) {
      node_of[result.cluster_of[node]] = node;
    }
    for (const Merge& merge : merges) {
      result.merges.push_back({node_of[merge.moved], node_of[merge.into]});
      part[merge.moved] = merge.into;
      unmoved[merge.moved] = 0;
      slack += merge.added;
    }
    // By the names that parts get: those of their first nodes.
    const std::vector<int32_t> old_cluster_of = result.cluster_of;
    StageClusters next = ContractClusters(result, part);
    next.slack = slack;
    next.unmoved_work.assign(next.graph.nodes.size(), 0);
    for (size_t node = 0; node < old_cluster_of.size(); ++node) {
      double& from = unmoved[old_cluster_of[node]];
      next.unmoved_work[next.cluster_of[node]] += from;
      from = 0;
    }
    result = std::move(next);
  }
}

}  // namespace meshwright
