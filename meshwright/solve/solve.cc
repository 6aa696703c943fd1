#include "meshwright/solve/solve.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/stopwatch.h"
#include "meshwright/solve/core.h"
#include "meshwright/solve/dual.h"
#include "meshwright/solve/graph.h"
#include "meshwright/solve/primal.h"
#include "meshwright/solve/reduce.h"

namespace meshwright {

absl::StatusOr<Solution> Solve(const Problem& problem,
                               const SolveOptions& options) {
  MW_RETURN_IF_ERROR(Verify(problem));
  const Stopwatch watch;
  const auto stop = [&] {
    return watch.seconds() >= options.time_limit_seconds;
  };
  const bool log = getenv("MW_LOG") != nullptr;
  Graph graph(problem);
  Reduce(graph, stop);
  if (!graph.infeasible().empty()) {
    return absl::ResourceExhaustedError(graph.infeasible());
  }
  Core core = BuildCore(graph);
  if (log) {
    fprintf(stderr,
            "%.2f reduced %d nodes %zu links %zu options %d points %ld cells "
            "%zu pieces\n",
            watch.seconds(), core.nodes, core.links.size() / 2,
            core.costs.size(), core.points(), core.work_per_pass,
            core.pieces.size());
  }
  Solution solution;
  solution.core_nodes = core.nodes;
  solution.core_points = core.points();
  Dual dual(core, options.seed);
  Primal primal(core, options.seed + 1);
  int64_t work = 0;
  work += primal.FindFirst(10, stop);
  if (log)
    fprintf(stderr, "%.2f first %ld\n", watch.seconds(), primal.best_cost());
  int64_t last = primal.best_cost();
  for (int round = 0; !stop() && core.nodes > 0; ++round) {
    const double upper = primal.best_cost() < kCoreInfinity
                             ? double(primal.best_cost())
                             : dual.best_bound() * 1.1 + 1;
    const int64_t spent = dual.Step(upper);
    primal.SetPrices(dual.prices());
    work += spent;
    if (round % 3 == 0) work += primal.Offer(dual.candidate());
    work += primal.Run(spent, stop);
    if (dual.best_bound() > double(primal.best_cost()) - 0.999) break;
    if (log && (primal.best_cost() < last || round % 50 == 0)) {
      last = primal.best_cost();
      fprintf(stderr, "%.2f r%d cost %ld bound %.0f now\n", watch.seconds(),
              round, last + core.constant,
              dual.best_bound() + double(core.constant));
    }
  }
  if (primal.best_cost() == kCoreInfinity && core.nodes > 0) {
    return absl::DeadlineExceededError("no assignment found in time");
  }
  solution.assignment = ExpandCore(
      graph, core, core.nodes > 0 ? primal.best() : std::vector<int32_t>());
  solution.cost = Evaluate(problem, solution.assignment).cost;
  solution.lower_bound = std::min(dual.Certify(), solution.cost);
  solution.proved_optimal = solution.lower_bound == solution.cost;
  solution.work = work;
  return solution;
}

}  // namespace meshwright
