#include "meshwright/solve/branching.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "meshwright/solve/reduce.h"
#include "meshwright/solve/selection.h"

namespace meshwright {
namespace {

constexpr int kSteps = 12;
constexpr int kStepsAtRoot = 40;

// Keeps only options that an assignment cheaper than `upper` may choose.
// Returns the number of dropped options; -1 if a node has none left.
int64_t DropUseless(Graph& graph, const Core& core,
                    absl::Span<const double> slack, double room) {
  int64_t dropped = 0;
  for (int32_t v = 0; v < core.nodes; ++v) {
    std::vector<int32_t> keep;
    for (int32_t a = 0; a < core.options(v); ++a) {
      if (slack[core.first_option[v] + a] <= room) keep.push_back(a);
    }
    if (keep.empty()) return -1;
    if (std::ssize(keep) == core.options(v)) continue;
    dropped += core.options(v) - std::ssize(keep);
    graph.KeepOptions(core.graph_node[v], keep);
  }
  return dropped;
}

}  // namespace

Branching::Branching(const Core& core, DualStart start, int64_t upper,
                     uint64_t seed)
    : problem_(ProblemOfCore(core)), seed_(seed), upper_(upper) {
  auto graph = std::make_shared<Graph>(problem_);
  auto same = std::make_shared<Core>(BuildCore(*graph));
  // FindPoints may have dropped points; the prices then start anew.
  if (same->points() != core.points()) start = FreshStart(*same);
  open_.push_back({.graph = graph, .before = same, .start = std::move(start)});
}

int64_t Branching::bound() const {
  int64_t least = upper_;
  for (const Part& part : open_) least = std::min(least, part.bound);
  return least;
}

int64_t Branching::Run(int64_t work, absl::FunctionRef<bool()> stop) {
  int64_t spent = 0;
  while (!open_.empty() && spent < work && !stop()) {
    Part part = std::move(open_.back());
    open_.pop_back();
    if (part.bound >= upper_) continue;
    spent += Examine(std::move(part), stop);
  }
  return spent;
}

bool Branching::Take(const Graph& graph, const Core& core,
                     absl::Span<const int32_t> choice) {
  const std::vector<int32_t> assignment = ExpandCore(graph, core, choice);
  const Evaluation evaluation = Evaluate(problem_, assignment);
  if (!evaluation.allowed() || evaluation.cost >= upper_) return false;
  upper_ = evaluation.cost;
  best_ = assignment;
  return true;
}

int64_t Branching::Examine(Part part, absl::FunctionRef<bool()> stop) {
  auto graph = std::make_shared<Graph>(*part.graph);
  if (part.node >= 0) graph->KeepOptions(part.node, part.options);
  int64_t work = 2000;
  const bool is_root = part.node < 0;
  while (true) {
    Reduce(*graph, [] { return false; });
    if (!graph->infeasible().empty()) return work;
    auto core = std::make_shared<Core>(BuildCore(*graph));
    work += 4 * core->work_per_pass;
    if (core->nodes == 0) {
      Take(*graph, *core, {});
      return work;
    }
    if (core->constant >= upper_) return work;
    ClampCosts(*core, upper_ - core->constant + 1);
    Dual dual(*core, CarryOver(*graph, *part.before, part.start, *core), seed_);
    const int steps = is_root ? kStepsAtRoot : kSteps;
    for (int i = 0; i < steps && !stop(); ++i) {
      work += dual.Step(static_cast<double>(upper_ - core->constant));
      if (dual.best_bound() >= static_cast<double>(upper_ - core->constant)) {
        break;
      }
    }
    Take(*graph, *core, dual.Candidate(1, &work));
    part.bound = std::max(part.bound, dual.Certify());
    if (part.bound >= upper_) return work;
    const std::vector<double> slack = dual.OptionSlack();
    work += 8 * core->work_per_pass;
    const double room =
        static_cast<double>(upper_ - 1 - core->constant) - dual.best_bound();
    const int64_t dropped = DropUseless(*graph, *core, slack, room);
    if (dropped < 0) return work;
    part.before = core;
    part.start = dual.best();
    // Is another round worth it before a split?
    if (dropped * 10 > std::ssize(core->costs) && !stop()) continue;
    if (dropped > 0) {
      Reduce(*graph, [] { return false; });
      if (!graph->infeasible().empty()) return work;
      auto smaller = std::make_shared<Core>(BuildCore(*graph));
      if (smaller->nodes == 0) {
        Take(*graph, *smaller, {});
        return work;
      }
      ClampCosts(*smaller,
                 std::max<int64_t>(upper_ - smaller->constant + 1, 1));
      Dual again(*smaller,
                 CarryOver(*graph, *part.before, part.start, *smaller), seed_);
      work += again.Settle(1);
      Split(graph, smaller, again, again.OptionSlack(), part.bound);
      return work + 8 * smaller->work_per_pass;
    }
    Split(graph, core, dual, slack, part.bound);
    return work;
  }
}

// Branches on the node whose second-cheapest option costs most: one branch
// fixes its cheapest option, and the bound of the other is soon above the best
// cost.
void Branching::Split(std::shared_ptr<const Graph> graph,
                      std::shared_ptr<const Core> core, const Dual& dual,
                      absl::Span<const double> slack, int64_t bound) {
  int32_t best_node = -1;
  int32_t best_option = 0;
  double best_score = -1;
  for (int32_t v = 0; v < core->nodes; ++v) {
    const int32_t first = core->first_option[v];
    const int32_t options = core->options(v);
    if (options == 1) continue;
    int32_t least = 0;
    double second = 1e300;
    for (int32_t a = 1; a < options; ++a) {
      if (slack[first + a] < slack[first + least]) {
        second = slack[first + least];
        least = a;
      } else {
        second = std::min(second, slack[first + a]);
      }
    }
    // Ties: nodes with many neighbours and few options are preferred.
    const double score =
        second - slack[first + least] +
        1e-3 * static_cast<double>(core->Links(v).size()) / options;
    if (score <= best_score) continue;
    best_score = score;
    best_node = v;
    best_option = least;
  }
  if (best_node < 0) {
    // Every node has one option; otherwise Reduce would have decomposed the
    // core.
    Take(*graph, *core, std::vector<int32_t>(core->nodes, 0));
    return;
  }
  std::vector<int32_t> rest;
  for (int32_t a = 0; a < core->options(best_node); ++a) {
    if (a != best_option) rest.push_back(a);
  }
  const int32_t node = core->graph_node[best_node];
  open_.push_back({graph, core, dual.best(), bound, node, rest});
  open_.push_back({graph, core, dual.best(), bound, node, {best_option}});
}

}  // namespace meshwright
