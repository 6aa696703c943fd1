// Problems of choosing one option per node: the input of the solver.
//
//   Problem problem;
//   problem.nodes = {{.costs = {3, 5}}, {.costs = {4, 1}}};
//   const int table = problem.AddTable({2, 2, {0, 9, 9, 0}});
//   problem.edges = {{.a = 0, .b = 1, .table = table}};
//   Solve(problem, {})->assignment;   // {1, 1}: 5 + 1 + 0
//
// An assignment names one option per node. Its cost is the sum of the chosen
// node costs and of the chosen edge cells. Usage (such as memory) extends over
// time: at every time within a limit, the usage of the active pieces must be at
// most the limit. Costs and usage are non-negative integers.
#ifndef MESHWRIGHT_SOLVE_PROBLEM_H_
#define MESHWRIGHT_SOLVE_PROBLEM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace meshwright {

// Node costs and cells from here on mean "not allowed". An assignment whose
// total cost reaches this is not allowed either.
inline constexpr int64_t kInfiniteCost = 1'000'000'000'000'000'000;

// The sum of two costs, saturating at kInfiniteCost.
inline int64_t AddCosts(int64_t a, int64_t b) {
  if (a >= kInfiniteCost || b >= kInfiniteCost) return kInfiniteCost;
  return a + b < kInfiniteCost ? a + b : kInfiniteCost;
}

// What a node uses at the times first <= t < last; nothing if last <= first.
// The pieces of a node may overlap: their usages add up.
struct UsagePiece {
  int64_t first = 0;
  int64_t last = 0;
  std::vector<int64_t> usage;  // By option.
};

struct ProblemNode {
  std::vector<int64_t> costs;  // By option; at least one.
  std::vector<UsagePiece> pieces;
};

struct CostTable {
  int32_t rows = 0;
  int32_t columns = 0;
  std::vector<int64_t> cells;  // Row by row.

  bool operator==(const CostTable&) const = default;
};

// Rows of the table are the options of `a`, columns those of `b`. Several edges
// may join the same two nodes, and edges may share a table.
struct ProblemEdge {
  int32_t a = 0;
  int32_t b = 0;
  int32_t table = 0;
};

// At every time first <= t < last, usage is at most `limit`.
struct UsageLimit {
  int64_t first = INT64_MIN;
  int64_t last = INT64_MAX;
  int64_t limit = 0;
};

struct Problem {
  std::string name;
  std::vector<ProblemNode> nodes;
  std::vector<ProblemEdge> edges;
  std::vector<CostTable> tables;
  std::vector<UsageLimit> limits;  // Empty: unlimited.

  // Adds `table` and returns its index, for edges.
  int32_t AddTable(CostTable table);
};

// kInvalidArgument, naming the node, edge, table or limit at fault.
absl::Status Verify(const Problem& problem);

// The cost of an assignment, and where it uses most.
struct Evaluation {
  int64_t cost = 0;        // At most kInfiniteCost.
  int64_t peak_usage = 0;  // Over all times.
  int64_t worst_excess =
      0;  // Usage above a limit at the worst time; at most 0: it fits.
  int64_t worst_time = 0;  // The time of that.

  bool allowed() const { return cost < kInfiniteCost && worst_excess <= 0; }
};

// Requires: `problem` passed Verify; `assignment` has a valid option for each
// node.
Evaluation Evaluate(const Problem& problem,
                    absl::Span<const int32_t> assignment);

}  // namespace meshwright

#endif  // MESHWRIGHT_SOLVE_PROBLEM_H_
