#include "meshwright/pipeline_search/assign_stages.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/steady_time.h"
#include "meshwright/pipeline_search/cut_down_sets.h"
#include "meshwright/pipeline_search/down_sets.h"
#include "meshwright/pipeline_search/refine_stages.h"
#include "meshwright/pipeline_search/stage_clusters.h"
#include "meshwright/pipeline_search/stage_core.h"
#include "meshwright/pipeline_search/stage_moves.h"

namespace meshwright {
namespace {

using Aim = DownSetCutter::Aim;

struct Choice {
  StageClusters weightless;  // Only nodes without work are merged.
  StageClusters light;       // Nodes with little work, too.
  StageClusters clusters;
  std::vector<NodeSet> sets;
  bool complete = false;  // Whether these are all down-sets.
};

// The least merged graph that has few enough down-sets.
Choice ChooseClusters(const StageClusters& single, const StageLimits& limits,
                      const StagePolicy& policy) {
  Choice choice{.weightless = single, .light = single, .clusters = single};
  if (single.graph.size() <= policy.few_nodes) {
    if (auto sets = AllDownSets(single.graph, policy.down_sets)) {
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
  for (const StagePolicy::Merge& step : policy.merges) {
    StageClusters next =
        MergeLight(choice.clusters,
                   {.moved_work = step.moved_work * share,
                    .added_bytes = static_cast<int64_t>(
                        step.added_bytes * static_cast<double>(largest))});
    if (next.graph.size() < limits.stages()) break;
    choice.clusters = std::move(next);
    if (step.moved_work == 0) choice.weightless = choice.clusters;
    if (step.added_bytes == 0) choice.light = choice.clusters;
    if (auto sets = AllDownSets(choice.clusters.graph, policy.down_sets)) {
      choice.sets = *std::move(sets);
      choice.complete = true;
      return choice;
    }
  }
  choice.sets = DownSetsOfOrders(choice.clusters.graph);
  return choice;
}

std::vector<double> WorkOf(const StageGraph& graph) {
  std::vector<double> work;
  for (const StageGraph::Node& node : graph.nodes) work.push_back(node.work);
  return work;
}

// The nodes themselves, or hardly merged if there are many, along several
// orders.
Choice OrdersOf(const StageClusters& single, const StageLimits& limits,
                const StagePolicy& policy) {
  Choice choice{.clusters = single};
  if (single.graph.size() > policy.many_nodes) {
    const std::vector<double> shares =
        limits.SharesOf(single.graph.TotalWork());
    StageClusters merged =
        MergeLight(single, {.moved_work = policy.merges[1].moved_work *
                                          *std::ranges::min_element(shares)});
    if (merged.graph.size() >= limits.stages()) {
      choice.clusters = std::move(merged);
    }
  }
  choice.sets = limits.tolerance < policy.loose
                    ? DownSetsOfOrders(choice.clusters.graph)
                    : DownSetsInOrder(choice.clusters.graph);
  return choice;
}

absl::Status CheckLimits(const StageGraph& graph, const StageLimits& limits) {
  for (const StageGraph::Node& node : graph.nodes) {
    if (node.fixed < kAnyStage || node.fixed >= limits.stages()) {
      return absl::InvalidArgumentError(
          absl::StrCat(node.name, " is to be on stage ", int{node.fixed},
                       ", but there are ", limits.stages(), " stages"));
    }
  }
  return absl::OkStatus();
}

// A lower bound on the bytes that any assignment with a given balance cuts.
class BytesBound {
 public:
  BytesBound(const Choice& choice, const StageClusters& single,
             const StageLimits& limits, bool thorough)
      : choice_(choice),
        single_(single),
        relaxed_(limits),
        thorough_(thorough) {
    // Clusters and nodes hold different amounts of memory per stage.
    relaxed_.memory.clear();
  }

  // `known`: the cut bytes of a known assignment.
  int64_t Within(double balance, int64_t known) {
    if (!choice_.complete) return 0;
    if (balance == balance_ && bytes_ <= known) return bytes_;
    balance_ = balance;
    bytes_ = Least(balance, known, nullptr, choice_.clusters.slack);
    if (bytes_ == known || !thorough_) return bytes_;
    bytes_ = std::max(bytes_, Least(balance, known, &Moves(), 0));
    return bytes_;
  }

  // The stages that the clusters of `finer` have in any assignment with fewer
  // than `known` bytes.
  std::vector<StageRange> RangesOf(const StageClusters& finer, double balance,
                                   int64_t known) {
    std::vector<StageRange> ranges(finer.graph.nodes.size(),
                                   {.last = StageId(relaxed_.stages() - 1)});
    if (!choice_.complete) return ranges;
    const StageGraph& graph = choice_.clusters.graph;
    const DownSetCutter cutter(graph, relaxed_, choice_.sets,
                               choice_.clusters.unmoved_work, &Moves());
    const std::vector<StageRange> found = cutter.RangesBelow(
        relaxed_.BoundsOf(graph.TotalWork(), balance), known);
    std::vector<int32_t> finer_of(single_.graph.nodes.size());
    for (size_t node = 0; node < single_.cluster_of.size(); ++node) {
      finer_of[single_.cluster_of[node]] = finer.cluster_of[node];
    }
    for (int32_t cluster = 0; cluster < graph.size(); ++cluster) {
      ranges[finer_of[Moves().unmoved()[cluster]]] = found[cluster];
    }
    return ranges;
  }

 private:
  // Without `moves`, all moved work may be on any stage.
  int64_t Least(double balance, int64_t known, const StageMoves* moves,
                int64_t slack) const {
    const StageGraph& graph = choice_.clusters.graph;
    const DownSetCutter cutter(graph, relaxed_, choice_.sets,
                               choice_.clusters.unmoved_work, moves);
    const int64_t bytes = cutter.FewestBytes(
        relaxed_.BoundsOf(graph.TotalWork(), balance), known + slack);
    return std::max<int64_t>(0, bytes - slack);
  }

  const StageMoves& Moves() {
    if (!moves_.has_value()) moves_.emplace(single_, choice_.clusters);
    return *moves_;
  }

  const Choice& choice_;
  const StageClusters& single_;
  StageLimits relaxed_;
  const bool thorough_;
  std::optional<StageMoves> moves_;
  double balance_ = 0;  // The balance that bytes_ is for.
  int64_t bytes_ = 0;
};

// Stages by node of `single`, given those of clusters.
std::vector<StageId> OnNodes(const StageClusters& single,
                             const StageClusters& clusters,
                             const std::vector<StageId>& stages) {
  std::vector<StageId> result(single.graph.nodes.size());
  for (size_t node = 0; node < single.cluster_of.size(); ++node) {
    result[single.cluster_of[node]] = stages[clusters.cluster_of[node]];
  }
  return result;
}

// The best stages of a choice, improved on the nodes of `single`, as long as
// they are above the bound.
std::optional<BoundedCut> Solve(const Choice& choice, BytesBound& bound,
                                const StageClusters& single,
                                const StageLimits& limits,
                                const AssignOptions& options) {
  const StageGraph& coarse = choice.clusters.graph;
  const DownSetCutter cutter(coarse, limits, choice.sets, WorkOf(coarse),
                             /*moves=*/nullptr, options.deadline);
  std::optional<BoundedCut> cut =
      CutWithin(cutter, coarse, limits, options.most_balance, options.policy);
  if (!cut.has_value()) return cut;
  const int64_t bytes = CostOf(coarse, limits, cut->stages).cut_bytes;
  cut->stages =
      RefineStages(single.graph, limits,
                   limits.BoundsOf(single.graph.TotalWork(), cut->allowed),
                   OnNodes(single, choice.clusters, cut->stages),
                   bound.Within(cut->allowed, bytes), options.policy);
  return cut;
}

// The better one: first within the allowed balance of both, then fewer bytes,
// then balance.
BoundedCut Better(const BoundedCut& a, const BoundedCut& b,
                  const StageGraph& graph, const StageLimits& limits) {
  const double allowed = std::min(a.allowed, b.allowed);
  const auto rank = [&](const BoundedCut& cut) {
    const CutCost cost = CostOf(graph, limits, cut.stages);
    // Sums in another order differ a little.
    const bool fits = cost.balance <= allowed * (1 + 1e-9);
    return std::tuple(!fits, cost.cut_bytes, cost.balance);
  };
  return {.stages = rank(b) < rank(a) ? b.stages : a.stages,
          .allowed = allowed};
}

// By cluster: the stage of the node with most work.
std::vector<StageId> OnClusters(const StageClusters& single,
                                const StageClusters& clusters,
                                const std::vector<StageId>& stages) {
  std::vector<StageId> result(clusters.graph.nodes.size());
  std::vector<double> most(clusters.graph.nodes.size(), -1);
  for (size_t node = 0; node < single.cluster_of.size(); ++node) {
    const int32_t from = single.cluster_of[node];
    const int32_t to = clusters.cluster_of[node];
    if (single.graph.nodes[from].work <= most[to]) continue;
    most[to] = single.graph.nodes[from].work;
    result[to] = stages[from];
  }
  return result;
}

// Returns a bound on the bytes of `cut`; improves the cut if the gap is wide
// and a better one is found.
int64_t Close(const Choice& choice, BytesBound& bound,
              const StageClusters& single, const StageLimits& limits,
              const AssignOptions& options, BoundedCut& cut) {
  int64_t known = CostOf(single.graph, limits, cut.stages).cut_bytes;
  int64_t least = bound.Within(cut.allowed, known);
  // On merged graphs a better cut is found faster; and the better the known
  // cut, the fewer stages remain possible for the nodes.
  for (const StageClusters* clusters : {&choice.light, &choice.weightless}) {
    if (!options.thorough) break;
    if (static_cast<double>(known - least) <=
        options.policy.good_gap * static_cast<double>(least)) {
      break;
    }
    const StageCoreAnswer core =
        SolveStageCore({.clusters = clusters,
                        .ranges = bound.RangesOf(*clusters, cut.allowed, known),
                        .balance = cut.allowed,
                        .known = known,
                        .start = OnClusters(single, *clusters, cut.stages)},
                       limits, options.policy);
    least = std::max(least, core.bytes_bound);
    if (core.stages.empty()) continue;
    std::vector<StageId> stages = OnNodes(single, *clusters, core.stages);
    // The core does not know the minimum work of a stage.
    if (!CheckStages(single.graph, limits, stages).ok()) continue;
    cut.stages =
        RefineStages(single.graph, limits,
                     limits.BoundsOf(single.graph.TotalWork(), cut.allowed),
                     std::move(stages), least, options.policy);
    known = CostOf(single.graph, limits, cut.stages).cut_bytes;
  }
  return least;
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
  const Choice choice = ChooseClusters(single, limits, options.policy);
  const StageGraph& coarse = choice.clusters.graph;
  const bool exact = choice.complete && coarse.size() == single.graph.size();
  BytesBound bound(choice, single, limits, options.thorough);
  std::optional<BoundedCut> cut = Solve(choice, bound, single, limits, options);
  const auto is_optimal = [&](const BoundedCut& found) {
    const int64_t bytes = CostOf(single.graph, limits, found.stages).cut_bytes;
    return found.allowed == 1 + limits.tolerance &&
           bytes <= bound.Within(found.allowed, bytes);
  };
  if (!exact && !(cut.has_value() && is_optimal(*cut))) {
    // Merged nodes may be exactly those that balance or memory needs to
    // separate.
    const std::optional<BoundedCut> fine =
        Solve(OrdersOf(single, limits, options.policy), bound, single, limits,
              options);
    if (!cut.has_value()) {
      cut = fine;
    } else if (fine.has_value()) {
      cut = Better(*cut, *fine, single.graph, limits);
    }
  }
  if (!cut.has_value() && SteadyNow() > options.deadline) {
    return absl::DeadlineExceededError(
        absl::StrCat("the time was over before the step was cut into ",
                     limits.stages(), " stages; give more (--time-limit)"));
  }
  if (!cut.has_value() && std::isfinite(options.most_balance)) {
    return absl::InvalidArgumentError(
        absl::StrCat("no ", limits.stages(), " stages are even enough"));
  }
  if (!cut.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no way was found to cut into ", limits.stages(),
                     " stages that holds to their memory and to fixed stages",
                     limits.least > 0 ? " and leaves none idle" : ""));
  }

  int64_t bytes_bound = 0;
  if (!exact) {
    bytes_bound = Close(choice, bound, single, limits, options, *cut);
  }

  StageAssignment result{.clusters = coarse.size(),
                         .down_sets = std::ssize(choice.sets)};
  for (const int32_t cluster : single.cluster_of) {
    result.stages.push_back(cut->stages[cluster]);
  }
  MW_RETURN_IF_ERROR(CheckStages(graph, limits, result.stages));
  result.cost = CostOf(graph, limits, result.stages);
  result.allowed_balance = cut->allowed;
  result.bytes_bound = exact ? result.cost.cut_bytes : bytes_bound;
  return result;
}

}  // namespace meshwright
