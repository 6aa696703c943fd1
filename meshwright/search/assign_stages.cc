#include "meshwright/search/assign_stages.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/search/cut_down_sets.h"
#include "meshwright/search/down_sets.h"
#include "meshwright/search/refine_stages.h"
#include "meshwright/search/stage_clusters.h"
#include "meshwright/search/stage_moves.h"

namespace meshwright {
namespace {

using Aim = DownSetCutter::Aim;

// Larger graphs are merged before their down-sets are counted.
constexpr int32_t kFewNodes = 300;
// Beyond these, merged before they are looked at along orders.
constexpr int32_t kManyNodes = 3000;
// Merged nodes of no more than this part of a share are free to be elsewhere in
// bounds; others have a price.
constexpr double kFreeWork = 0;
// Where so much is tolerated, boundaries are many; one order must do.
constexpr double kLoose = 0.25;

// How far nodes are merged, step by step: moved work relative to the smallest
// share, bytes added relative to the largest value.
struct Step {
  double moved_work = 0;
  double added_bytes = 0;
};
constexpr Step kSteps[] = {{0.0005, 0},    {0.0005, 0.0001}, {0.0005, 0.001},
                           {0.002, 0.001}, {0.01, 0.001},    {0.02, 0.001},
                           {0.03, 0.01},   {0.05, 0.02},     {0.10, 0.05},
                           {0.20, 0.1},    {0.40, 0.5}};

struct Choice {
  StageClusters base;  // Merged, but for what is worth a price.
  StageClusters clusters;
  std::vector<NodeSet> sets;
  bool complete = false;  // All down-sets there are.
};

// The least merged graph whose down-sets are few enough.
Choice ChooseClusters(const StageClusters& single, const StageLimits& limits,
                      size_t down_sets) {
  Choice choice{.base = single, .clusters = single};
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
    if (step.moved_work <= kFreeWork) choice.base = choice.clusters;
    if (auto sets = AllDownSets(choice.clusters.graph, down_sets)) {
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

// Nodes as they are, or hardly merged where there are many, along orders.
Choice OrdersOf(const StageClusters& single, const StageLimits& limits) {
  Choice choice{.base = single, .clusters = single};
  if (single.graph.size() > kManyNodes) {
    const std::vector<double> shares =
        limits.SharesOf(single.graph.TotalWork());
    StageClusters merged =
        MergeLight(single, {.moved_work = kSteps[0].moved_work *
                                          *std::ranges::min_element(shares)});
    if (merged.graph.size() >= limits.stages()) {
      choice.clusters = std::move(merged);
    }
  }
  choice.sets = limits.tolerance < kLoose
                    ? DownSetsOfOrders(choice.clusters.graph)
                    : DownSetsInOrder(choice.clusters.graph);
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

// Bytes that any assignment with a certain balance cuts.
class BytesBound {
 public:
  BytesBound(const Choice& choice, const StageLimits& limits)
      : choice_(choice), relaxed_(limits) {
    // Stages of clusters hold other bytes than those of nodes.
    relaxed_.memory.clear();
  }

  // `known`: what some assignment cuts.
  int64_t Within(double balance, int64_t known) {
    if (!choice_.complete) return 0;
    if (balance == balance_ && bytes_ <= known) return bytes_;
    balance_ = balance;
    bytes_ = Least(balance, known, nullptr, choice_.clusters.slack);
    if (bytes_ == known) return bytes_;
    if (!moves_.has_value()) moves_.emplace(choice_.base, choice_.clusters);
    bytes_ =
        std::max(bytes_, Least(balance, known, &*moves_, choice_.base.slack));
    return bytes_;
  }

 private:
  // Without `moves`, all that was moved may be anywhere.
  int64_t Least(double balance, int64_t known, const StageMoves* moves,
                int64_t slack) const {
    const StageGraph& graph = choice_.clusters.graph;
    const DownSetCutter cutter(graph, relaxed_, choice_.sets,
                               choice_.clusters.unmoved_work, moves);
    const int64_t bytes = cutter.FewestBytes(
        relaxed_.BoundsOf(graph.TotalWork(), balance), known + slack);
    return std::max<int64_t>(0, bytes - slack);
  }

  const Choice& choice_;
  StageLimits relaxed_;
  std::optional<StageMoves> moves_;
  double balance_ = 0;  // What bytes_ is for.
  int64_t bytes_ = 0;
};

// The best stages of a choice, improved on the nodes of `single`, not below the
// bound.
std::optional<BoundedCut> Solve(const Choice& choice, BytesBound& bound,
                                const StageClusters& single,
                                const StageLimits& limits) {
  const StageGraph& coarse = choice.clusters.graph;
  const DownSetCutter cutter(coarse, limits, choice.sets, WorkOf(coarse));
  std::optional<BoundedCut> cut = CutWithin(cutter, coarse, limits);
  if (!cut.has_value()) return cut;
  std::vector<int32_t> stages(single.graph.nodes.size());
  for (size_t node = 0; node < single.cluster_of.size(); ++node) {
    stages[single.cluster_of[node]] =
        cut->stages[choice.clusters.cluster_of[node]];
  }
  const int64_t bytes = CostOf(coarse, limits, cut->stages).cut_bytes;
  cut->stages =
      RefineStages(single.graph, limits,
                   limits.BoundsOf(single.graph.TotalWork(), cut->allowed),
                   std::move(stages), bound.Within(cut->allowed, bytes));
  return cut;
}

// The better one: within what both allow, then fewer bytes, then balance.
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
  const bool exact = choice.complete && coarse.size() == single.graph.size();
  BytesBound bound(choice, limits);
  std::optional<BoundedCut> cut = Solve(choice, bound, single, limits);
  const auto is_optimal = [&](const BoundedCut& found) {
    const int64_t bytes = CostOf(single.graph, limits, found.stages).cut_bytes;
    return found.allowed == 1 + limits.tolerance &&
           bytes <= bound.Within(found.allowed, bytes);
  };
  if (!exact && !(cut.has_value() && is_optimal(*cut))) {
    // What was merged may be just what balance or memory need apart.
    const std::optional<BoundedCut> fine =
        Solve(OrdersOf(single, limits), bound, single, limits);
    if (!cut.has_value()) {
      cut = fine;
    } else if (fine.has_value()) {
      cut = Better(*cut, *fine, single.graph, limits);
    }
  }
  if (!cut.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no way was found to cut into ", limits.stages(),
                     " stages that holds to their memory and to fixed stages"));
  }

  StageAssignment result{.clusters = coarse.size(),
                         .down_sets = std::ssize(choice.sets)};
  for (const int32_t cluster : single.cluster_of) {
    result.stages.push_back(cut->stages[cluster]);
  }
  MW_RETURN_IF_ERROR(CheckStages(graph, limits, result.stages));
  result.cost = CostOf(graph, limits, result.stages);
  result.allowed_balance = cut->allowed;
  result.bytes_bound = exact
                           ? result.cost.cut_bytes
                           : bound.Within(cut->allowed, result.cost.cut_bytes);
  return result;
}

}  // namespace meshwright
