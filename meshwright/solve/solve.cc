#include "meshwright/solve/solve.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "meshwright/base/check.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/solve/certify.h"
#include "meshwright/solve/core.h"
#include "meshwright/solve/core_search.h"
#include "meshwright/solve/graph.h"
#include "meshwright/solve/primal.h"
#include "meshwright/solve/reduce.h"

namespace meshwright {
namespace {

// The search over one problem: reduce the graph, search its core, and reduce
// again with what the search excluded.
class Solver {
 public:
  Solver(const Problem& problem, const SolveOptions& options)
      : problem_(problem),
        options_(options),
        stop_seconds_(options.time_limit_seconds),
        graph_(problem) {}

  absl::StatusOr<Solution> Run();

  // Whether all assignments seen so far cost too much to be told from forbidden
  // ones.
  bool too_costly() const { return too_costly_; }

 private:
  bool Stop() const { return watch_.seconds() >= stop_seconds_; }
  // Finds the first assignment and the first bound, and measures how long
  // checking a bound takes.
  void Begin();
  void Offer(std::vector<int32_t> assignment);
  // True if there is more to search.
  bool SearchOnce();
  void DropUseless(const std::vector<char>& useless);
  absl::StatusOr<Solution> Finish();

  const Problem& problem_;
  const SolveOptions& options_;
  const Stopwatch watch_;
  double stop_seconds_;
  Graph graph_;
  Core core_;
  DualStart start_;
  Solution solution_;
  // No feasible assignment is cheaper than best_cost_.
  bool proved_ = false;
  bool too_costly_ = false;
  int64_t best_cost_ = kCoreInfinity;
};

void Solver::Offer(std::vector<int32_t> assignment) {
  const Evaluation evaluation = Evaluate(problem_, assignment);
  if (!evaluation.allowed()) return;
  too_costly_ = best_cost_ == kCoreInfinity && evaluation.cost >= best_cost_;
  if (evaluation.cost >= best_cost_) return;
  best_cost_ = evaluation.cost;
  solution_.assignment = std::move(assignment);
}

void Solver::Begin() {
  Primal primal(core_, kCoreInfinity, options_.seed);
  solution_.work += primal.FindFirst(3, [&] { return Stop(); });
  if (!primal.best().empty()) Offer(ExpandCore(graph_, core_, primal.best()));
  const Stopwatch check;
  solution_.lower_bound = CertifiedBound(core_, start_.prices, start_.messages);
  if (best_cost_ == kCoreInfinity &&
      solution_.lower_bound > kCoreInfinity / 4) {
    too_costly_ = true;
  }
  // The end of the search also checks a bound, which may take longer on a busy
  // machine.
  stop_seconds_ -= std::min(0.3 * stop_seconds_, 4 * check.seconds());
}

void Solver::DropUseless(const std::vector<char>& useless) {
  for (int32_t v = 0; v < core_.nodes; ++v) {
    std::vector<int32_t> keep;
    for (int32_t a = 0; a < core_.options(v); ++a) {
      if (!useless[core_.first_option[v] + a]) keep.push_back(a);
    }
    if (keep.empty()) {
      graph_.SetInfeasible("nothing cheaper is left");
      return;
    }
    if (std::ssize(keep) < core_.options(v)) {
      graph_.KeepOptions(core_.graph_node[v], keep);
    }
  }
}

bool Solver::SearchOnce() {
  const std::vector<int32_t> first =
      solution_.assignment.empty() ? std::vector<int32_t>()
                                   : ChoiceInCore(core_, solution_.assignment);
  if (core_.constant >= best_cost_) {
    proved_ = true;
    return false;
  }
  if (best_cost_ < kCoreInfinity) {
    ClampCosts(core_, best_cost_ - core_.constant + 1);
  }
  CoreSearch search(core_, start_, best_cost_ - core_.constant, first,
                    {.seed = options_.seed,
                     .threads = options_.threads,
                     .work_limit = options_.work_limit - solution_.work,
                     .gap = options_.gap});
  const CoreSearchEnd end = search.Run([&] { return Stop(); });
  solution_.work += search.work();
  if (!search.best().empty()) {
    Offer(ExpandCore(graph_, core_, search.best()));
  }
  if (end == CoreSearchEnd::kProved) {
    proved_ = true;
    return false;
  }
  const int64_t bound = search.dual().Certify();
  solution_.lower_bound =
      std::max({solution_.lower_bound, bound, search.bound() + core_.constant,
                search.bound_of_highs() + core_.constant});
  if (end == CoreSearchEnd::kStopped) return false;
  DropUseless(search.useless());
  start_ = search.dual().best();
  return true;
}

absl::StatusOr<Solution> Solver::Finish() {
  if (best_cost_ == kCoreInfinity) {
    if (proved_) {
      return absl::ResourceExhaustedError(
          "no assignment stays within the usage limit");
    }
    return absl::DeadlineExceededError(
        "no assignment within the usage limit was found in the time given");
  }
  solution_.cost = best_cost_;
  solution_.lower_bound =
      proved_ ? best_cost_ : std::min(solution_.lower_bound, best_cost_);
  solution_.proved_optimal = solution_.lower_bound == solution_.cost;
  return std::move(solution_);
}

absl::StatusOr<Solution> Solver::Run() {
  if (!options_.initial.empty()) Offer(options_.initial);
  // If time is very short, the problem may remain partly reduced.
  Reduce(graph_, [&] { return watch_.seconds() >= 0.4 * stop_seconds_; });
  if (!graph_.infeasible().empty()) {
    return absl::ResourceExhaustedError(graph_.infeasible());
  }
  core_ = BuildCore(graph_);
  solution_.core_nodes = core_.nodes;
  solution_.core_points = core_.points();
  start_ = FreshStart(core_);
  if (core_.nodes > 0) Begin();
  while (true) {
    if (core_.nodes == 0) {
      Offer(ExpandCore(graph_, core_, {}));
      proved_ = true;
      break;
    }
    if (!SearchOnce()) break;
    Reduce(graph_, [&] { return Stop(); });
    if (!graph_.infeasible().empty()) {
      proved_ = true;
      break;
    }
    Core smaller = BuildCore(graph_);
    start_ = CarryOver(graph_, core_, start_, smaller);
    core_ = std::move(smaller);
  }
  return Finish();
}

// With costs in units this many times as large, rounded down.
Problem InUnitsOf(int64_t unit, Problem problem) {
  const auto divide = [&](int64_t& cost) {
    if (cost < kInfiniteCost) cost /= unit;
  };
  for (ProblemNode& node : problem.nodes) {
    std::ranges::for_each(node.costs, divide);
  }
  for (CostTable& table : problem.tables) {
    std::ranges::for_each(table.cells, divide);
  }
  return problem;
}

// Costs that a core would take for forbidden are none in larger units.
absl::StatusOr<Solution> SolveInLargeUnits(const Problem& problem,
                                           const SolveOptions& options) {
  constexpr int64_t kUnit = kInfiniteCost / kCoreInfinity + 1;
  const Problem coarse = InUnitsOf(kUnit, problem);
  MW_ASSIGN_OR_RETURN(Solution solution, Solver(coarse, options).Run());
  solution.cost = Evaluate(problem, solution.assignment).cost;
  solution.lower_bound *= kUnit;
  solution.proved_optimal = solution.lower_bound == solution.cost;
  return solution;
}

}  // namespace

absl::StatusOr<Solution> Solve(const Problem& problem,
                               const SolveOptions& options) {
  MW_RETURN_IF_ERROR(Verify(problem));
  MW_CHECK(options.initial.empty() ||
           options.initial.size() == problem.nodes.size());
  Solver solver(problem, options);
  absl::StatusOr<Solution> solution = solver.Run();
  if (solution.ok() || !solver.too_costly()) return solution;
  return SolveInLargeUnits(problem, options);
}

}  // namespace meshwright
