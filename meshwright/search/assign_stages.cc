#include "meshwright/search/assign_stages.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/search/cut_down_sets.h"
#include "meshwright/search/down_sets.h"
#include "meshwright/search/refine_stages.h"
#include "meshwright/search/stage_clusters.h"

namespace meshwright {
namespace {

using Aim = DownSetCutter::Aim;

// Larger graphs are merged before their down-sets are counted.
constexpr int32_t kFewNodes = 300;

// How far nodes are merged, step by step: moved work relative to the smallest
// share, bytes added relative to the largest value.
struct Step {
  double moved_work = 0;
  double added_bytes = 0;
};
constexpr Step kSteps[] = {{0.01, 0},    {0.03, 0.001}, {0.05, 0.01},
                           {0.10, 0.02}, {0.20, 0.1},   {0.40, 0.5}};

struct Choice {
  StageClusters clusters;
  std::vector<NodeSet> sets;
  bool complete = false;  // All down-sets there are.
};

// The least merged graph whose down-sets are few enough.
Choice ChooseClusters(const StageClusters& single, const StageLimits& limits,
                      size_t down_sets) {
  Choice choice{.clusters = single};
  if (single.graph.size() <= kFewNodes) {
    if (auto sets = AllDownSets(single.graph, down_sets)) {
      choice.sets = *std::move(sets);
      choice.complete = true;
      return choice;
    }
  }
  const std::vector<double> shares = limits.SharesOf(single.graph.TotalWork());
  const double share = *std::ranges::min_element(shares);
  int64_t largest = 0;
  for (const StageGraph::Value& value : single.graph.values) {
    largest = std::max(largest, value.bytes);
  }
  for (const Step& step : kSteps) {
    StageClusters next =
        MergeLight(choice.clusters,
                   {.moved_work = step.moved_work * share,
                    .added_bytes = static_cast<int64_t>(
                        step.added_bytes * static_cast<double>(largest))});
    if (next.graph.size() < limits.stages()) break;
    choice.clusters = std::move(next);
    if (auto sets = AllDownSets(choice.clusters.graph, down_sets)) {
      choice.sets = *std::move(sets);
      choice.complete = true;
      return choice;
    }
  }
  choice.sets = DownSetsOfOrders(choice.clusters.graph);
  return choice;
}

absl::Status CheckLimits(const StageGraph& graph, const StageLimits& limits) {
  for (const StageGraph::Node& node : graph.nodes) {
    if (node.fixed < kAnyStage || node.fixed >= limits.stages()) {
      return absl::InvalidArgumentError(
          absl::StrCat(node.name, " is to be on stage ", node.fixed,
                       ", but there are ", limits.stages(), " stages"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

double StageAssignment::Gap() const {
  if (cost.cut_bytes <= bytes_bound) return 0;
  return bytes_bound == 0 ? 1
                          : static_cast<double>(cost.cut_bytes - bytes_bound) /
                                static_cast<double>(bytes_bound);
}

absl::StatusOr<StageAssignment> AssignStages(const StageGraph& graph,
                                             const StageLimits& limits,
                                             const AssignOptions& options) {
  MW_RETURN_IF_ERROR(CheckLimits(graph, limits));
  MW_ASSIGN_OR_RETURN(const StageClusters single, MergeGroups(graph));
  if (single.graph.size() < limits.stages()) {
    return absl::InvalidArgumentError(
        absl::StrCat(limits.stages(), " stages are more than the ",
                     single.graph.size(), " parts that there are"));
  }
  const Choice choice = ChooseClusters(single, limits, options.down_sets);
  const StageGraph& coarse = choice.clusters.graph;
  std::vector<double> work;
  for (const StageGraph::Node& node : coarse.nodes) work.push_back(node.work);
  const DownSetCutter cutter(coarse, limits, choice.sets, work);
  const std::optional<BoundedCut> cut = CutWithin(cutter, coarse, limits);
  if (!cut.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no way was found to cut into ", limits.stages(),
                     " stages that holds to their memory and to fixed stages"));
  }

  StageAssignment result{.allowed_balance = cut->allowed,
                         .clusters = coarse.size(),
                         .down_sets = std::ssize(choice.sets)};
  const std::vector<double> bounds =
      limits.BoundsOf(graph.TotalWork(), cut->allowed);
  // From the clusters to nodes, by way of groups.
  std::vector<int32_t> stages(single.graph.nodes.size());
  for (int32_t node = 0; node < graph.size(); ++node) {
    stages[single.cluster_of[node]] =
        cut->stages[choice.clusters.cluster_of[node]];
  }
  stages = RefineStages(single.graph, limits, bounds, std::move(stages));
  for (int32_t node = 0; node < graph.size(); ++node) {
    result.stages.push_back(stages[single.cluster_of[node]]);
  }
  MW_RETURN_IF_ERROR(CheckStages(graph, limits, result.stages));
  result.cost = CostOf(graph, limits, result.stages);

  if (choice.complete && coarse.size() == single.graph.size()) {
    result.bytes_bound = result.cost.cut_bytes;
  } else if (choice.complete) {
    // Nodes that were moved may be on other stages in the best assignment, all
    // nodes of a stage among them.
    StageLimits relaxed = limits;
    relaxed.memory.clear();
    const DownSetCutter bounding(coarse, relaxed, choice.sets,
                                 choice.clusters.unmoved_work);
    if (const auto least = bounding.Cut(bounds, Aim::kFewestBytes,
                                        /*allow_empty=*/true)) {
      result.bytes_bound = std::max<int64_t>(
          0, CostOf(coarse, limits, *least).cut_bytes - choice.clusters.slack);
    }
  }
  return result;
}

}  // namespace meshwright
