#include "meshwright/solve/problem.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "meshwright/base/check.h"

namespace meshwright {
namespace {

// So that sums of usage are exact in 64 bits.
constexpr int64_t kMaxTotalUsage = int64_t{1} << 61;

absl::Status VerifyNode(const ProblemNode& node, int64_t* total_usage) {
  if (node.costs.empty()) return absl::InvalidArgumentError("has no options");
  for (const int64_t cost : node.costs) {
    if (cost < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("has the negative cost ", cost));
    }
  }
  for (const UsagePiece& piece : node.pieces) {
    if (piece.usage.size() != node.costs.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("has ", node.costs.size(), " costs but ",
                       piece.usage.size(), " usages"));
    }
    const auto [low, high] = std::ranges::minmax(piece.usage);
    if (low < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("has the negative usage ", low));
    }
    if (high > kMaxTotalUsage - *total_usage) {
      return absl::InvalidArgumentError(
          absl::StrCat("takes the sum of all usages above ", kMaxTotalUsage));
    }
    *total_usage += high;
  }
  return absl::OkStatus();
}

absl::Status VerifyEdge(const Problem& problem, const ProblemEdge& edge) {
  const int64_t nodes = std::ssize(problem.nodes);
  for (const int64_t end : {edge.a, edge.b}) {
    if (end < 0 || end >= nodes) {
      return absl::InvalidArgumentError(
          absl::StrCat("names node ", end, "; there are ", nodes, " nodes"));
    }
  }
  if (edge.table < 0 || edge.table >= std::ssize(problem.tables)) {
    return absl::InvalidArgumentError(
        absl::StrCat("names table ", edge.table, "; there are ",
                     problem.tables.size(), " tables"));
  }
  const CostTable& table = problem.tables[edge.table];
  const int64_t rows = std::ssize(problem.nodes[edge.a].costs);
  const int64_t columns = std::ssize(problem.nodes[edge.b].costs);
  if (rows != table.rows || columns != table.columns) {
    return absl::InvalidArgumentError(absl::StrCat(
        "joins nodes of ", rows, " and ", columns, " options with a table of ",
        table.rows, " x ", table.columns));
  }
  return absl::OkStatus();
}

absl::Status Named(absl::string_view kind, size_t index,
                   const absl::Status& status) {
  return absl::InvalidArgumentError(
      absl::StrCat(kind, " ", index, " ", status.message()));
}

// The changes of a sum of intervals, by time.
using Steps = std::map<int64_t, int64_t>;

void AddInterval(int64_t first, int64_t last, int64_t value, Steps* steps) {
  if (first >= last) return;
  (*steps)[first] += value;
  (*steps)[last] -= value;
}

}  // namespace

int32_t Problem::AddTable(CostTable table) {
  tables.push_back(std::move(table));
  return static_cast<int32_t>(tables.size()) - 1;
}

absl::Status Verify(const Problem& problem) {
  int64_t total_usage = 0;
  for (size_t i = 0; i < problem.nodes.size(); ++i) {
    const absl::Status status = VerifyNode(problem.nodes[i], &total_usage);
    if (!status.ok()) return Named("node", i, status);
  }
  for (size_t i = 0; i < problem.tables.size(); ++i) {
    const CostTable& table = problem.tables[i];
    if (std::ssize(table.cells) != int64_t{table.rows} * table.columns) {
      return absl::InvalidArgumentError(
          absl::StrCat("table ", i, " has ", table.cells.size(), " cells, not ",
                       table.rows, " x ", table.columns));
    }
    if (std::ranges::any_of(table.cells, [](int64_t c) { return c < 0; })) {
      return absl::InvalidArgumentError(
          absl::StrCat("table ", i, " has a negative cost"));
    }
  }
  for (size_t i = 0; i < problem.edges.size(); ++i) {
    const absl::Status status = VerifyEdge(problem, problem.edges[i]);
    if (!status.ok()) return Named("edge", i, status);
  }
  return absl::OkStatus();
}

Evaluation Evaluate(const Problem& problem,
                    absl::Span<const int32_t> assignment) {
  MW_CHECK(assignment.size() == problem.nodes.size());
  Evaluation result;
  Steps usage;
  for (size_t i = 0; i < problem.nodes.size(); ++i) {
    const ProblemNode& node = problem.nodes[i];
    const int32_t option = assignment[i];
    MW_CHECK(option >= 0 && option < std::ssize(node.costs));
    result.cost = AddCosts(result.cost, node.costs[option]);
    for (const UsagePiece& piece : node.pieces) {
      AddInterval(piece.first, piece.last, piece.usage[option], &usage);
    }
  }
  for (const ProblemEdge& edge : problem.edges) {
    const CostTable& table = problem.tables[edge.table];
    result.cost = AddCosts(
        result.cost, table.cells[int64_t{assignment[edge.a]} * table.columns +
                                 assignment[edge.b]]);
  }
  for (const UsageLimit& limit : problem.limits) usage.try_emplace(limit.first);
  int64_t now = 0;
  for (auto step = usage.begin(); step != usage.end(); ++step) {
    now += step->second;
    result.peak_usage = std::max(result.peak_usage, now);
    for (const UsageLimit& limit : problem.limits) {
      if (step->first < limit.first || step->first >= limit.last) continue;
      if (now - limit.limit > result.worst_excess) {
        result.worst_excess = now - limit.limit;
        result.worst_time = step->first;
      }
    }
  }
  return result;
}

}  // namespace meshwright
