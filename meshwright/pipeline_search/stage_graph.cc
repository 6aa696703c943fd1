#include "meshwright/pipeline_search/stage_graph.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace meshwright {

double StageGraph::TotalWork() const {
  double total = 0;
  for (const Node& node : nodes) total += node.work;
  return total;
}

StageLimits StageLimits::Even(int32_t stages, double tolerance) {
  return {.capacity = std::vector<double>(stages, 1.0),
          .tolerance = tolerance,
          .memory = {}};
}

std::vector<double> StageLimits::SharesOf(double total) const {
  const double sum = std::accumulate(capacity.begin(), capacity.end(), 0.0);
  std::vector<double> shares;
  for (const double part : capacity) shares.push_back(total * part / sum);
  return shares;
}

std::vector<double> StageLimits::LeastOf(double total) const {
  std::vector<double> bounds = SharesOf(total);
  for (double& bound : bounds) bound *= least * (1 - 1e-9);
  return bounds;
}

std::vector<double> StageLimits::BoundsOf(double total, double balance) const {
  std::vector<double> bounds = SharesOf(total);
  for (double& bound : bounds) bound *= balance;
  return bounds;
}

CutCost CostOf(const StageGraph& graph, const StageLimits& limits,
               const std::vector<StageId>& stages) {
  CutCost cost;
  std::vector<int32_t> reached;
  for (const StageGraph::Value& value : graph.values) {
    reached.clear();
    if (value.producer != kNoProducer) {
      reached.push_back(stages[value.producer]);
    }
    for (const int32_t consumer : value.consumers) {
      if (std::ranges::find(reached, stages[consumer]) == reached.end()) {
        reached.push_back(stages[consumer]);
      }
    }
    if (!reached.empty())
      cost.cut_bytes += value.bytes * (std::ssize(reached) - 1);
  }
  std::vector<double> work(limits.stages());
  for (int32_t node = 0; node < graph.size(); ++node) {
    work[stages[node]] += graph.nodes[node].work;
  }
  const std::vector<double> shares = limits.SharesOf(graph.TotalWork());
  for (StageId stage{0}; stage < limits.stages(); ++stage) {
    if (work[stage] == 0) continue;
    cost.balance = std::max(cost.balance, work[stage] / shares[stage]);
  }
  return cost;
}

absl::Status CheckStages(const StageGraph& graph, const StageLimits& limits,
                         const std::vector<StageId>& stages) {
  const auto wrong = [&](int32_t node, absl::string_view what) {
    return absl::InternalError(absl::StrCat("node ", node, " (",
                                            graph.nodes[node].name, ") ", what,
                                            ", on stage ", int{stages[node]}));
  };
  std::vector<int64_t> held(limits.stages());
  std::vector<double> work(limits.stages());
  std::vector<bool> used(limits.stages());
  for (int32_t node = 0; node < graph.size(); ++node) {
    if (stages[node] < 0 || stages[node] >= limits.stages()) {
      return wrong(node, "has no stage");
    }
    const StageId fixed = graph.nodes[node].fixed;
    if (fixed != kAnyStage && fixed != stages[node]) {
      return wrong(node, absl::StrCat("must be on stage ", int{fixed}));
    }
    used[stages[node]] = true;
    held[stages[node]] += graph.nodes[node].held;
    work[stages[node]] += graph.nodes[node].work;
  }
  for (const StageGraph::Value& value : graph.values) {
    for (const int32_t consumer : value.consumers) {
      if (value.producer != kNoProducer &&
          stages[value.producer] > stages[consumer]) {
        return wrong(consumer, "needs what a later stage makes");
      }
    }
  }
  for (const std::vector<int32_t>& group : graph.groups) {
    for (const int32_t node : group) {
      if (stages[node] != stages[group[0]])
        return wrong(node, "left its group");
    }
  }
  const std::vector<double> least = limits.LeastOf(graph.TotalWork());
  for (StageId stage{0}; stage < limits.stages(); ++stage) {
    if (!used[stage]) {
      return absl::InternalError(
          absl::StrCat("stage ", int{stage}, " is empty"));
    }
    if (work[stage] < least[stage]) {
      return absl::InternalError(
          absl::StrCat("stage ", int{stage}, " has too little work"));
    }
    if (!limits.memory.empty() && held[stage] > limits.memory[stage]) {
      return absl::InternalError(
          absl::StrCat("stage ", int{stage}, " holds ", held[stage], " bytes"));
    }
  }
  return absl::OkStatus();
}

}  // namespace meshwright
