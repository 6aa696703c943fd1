// Solves problems of choosing one option per node: an assignment and a lower
// bound.
//
//   MW_ASSIGN_OR_RETURN(const Solution solution,
//                       Solve(problem, {.time_limit_seconds = 60}));
//   solution.cost;          // of solution.assignment
//   solution.lower_bound;   // no allowed assignment costs less
//
// Reduces the problem exactly, then searches from both sides until the bound
// meets the cost or a limit stops it. Small and tree-like problems end with a
// proof within milliseconds.
#ifndef MESHWRIGHT_SOLVE_SOLVE_H_
#define MESHWRIGHT_SOLVE_SOLVE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/solve/problem.h"

namespace meshwright {

struct SolveOptions {
  // Time only stops the search; what it does before depends on nothing but the
  // problem, the seed and the initial assignment.
  double time_limit_seconds = 60;
  // Cells touched; about 10^9 per second on each thread. Two runs that end by
  // work, or by a proof, give the same answer on any machine.
  int64_t work_limit = INT64_MAX;
  uint64_t seed = 1;
  // 1 or 2; the answer does not depend on it unless time stops the search.
  int threads = 2;
  // Stops when cost <= lower_bound * (1 + gap).
  double gap = 0;
  // A warm start: one option per node, or empty. It may be poor.
  std::vector<int32_t> initial;
};

struct Solution {
  std::vector<int32_t> assignment;  // By node.
  int64_t cost = 0;
  int64_t lower_bound = 0;  // At most `cost`.
  bool proved_optimal = false;
  int64_t work = 0;
  // The size of what the reductions left.
  int32_t core_nodes = 0;
  int32_t core_points = 0;
};

// kInvalidArgument for problems that Verify refuses; kResourceExhausted, with a
// one-line reason, if no assignment is allowed; kDeadlineExceeded if none was
// found before a limit. Where all assignments cost 4 * 10^15 and more, the bound
// is that of costs rounded down to multiples of 251.
absl::StatusOr<Solution> Solve(const Problem& problem,
                               const SolveOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_SOLVE_H_
