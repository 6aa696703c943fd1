#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/solve/iopddl.h"

namespace meshwright {
namespace {

// Equal options cost nothing, others are forbidden.
std::vector<int64_t> Agreement(size_t options) {
  std::vector<int64_t> cells(options * options, kInfiniteCost);
  for (size_t i = 0; i < options; ++i) cells[i * options + i] = 0;
  return cells;
}

std::string List(const std::vector<int64_t>& numbers) {
  return absl::StrCat("[", absl::StrJoin(numbers, ","), "]");
}

class Writer {
 public:
  explicit Writer(const Problem& problem) : problem_(problem) {}

  std::string Write() {
    const std::vector<UsageLimit>& limits = problem_.limits;
    const bool is_limited = !limits.empty();
    for (const ProblemNode& node : problem_.nodes) {
      Add(node.costs,
          is_limited && !node.pieces.empty() ? &node.pieces[0] : nullptr);
    }
    for (const ProblemEdge& edge : problem_.edges) {
      AddEdge(edge.a, edge.b, problem_.tables[edge.table].cells);
    }
    if (is_limited) AddPieces();
    const std::vector<UsageLimit> segments = Segments();
    int64_t most = 0;
    for (const UsageLimit& one : segments) most = std::max(most, one.limit);
    for (const UsageLimit& one : segments) {
      const UsagePiece held{one.first, one.last, {most - one.limit}};
      if (one.limit < most) Add({0}, &held);
    }
    const std::string limit = is_limited ? absl::StrCat(most) : "null";
    return absl::StrCat(
        "{\"problem\": {\"nodes\": {\"intervals\": [",
        absl::StrJoin(intervals_, ","), "],\n\"costs\": [",
        absl::StrJoin(costs_, ","), "],\n\"usages\": [",
        absl::StrJoin(usages_, ","), "]},\n\"edges\": {\"nodes\": [",
        absl::StrJoin(ends_, ","), "],\n\"costs\": [",
        absl::StrJoin(tables_, ","), "]},\n\"usage_limit\": ", limit, "}}\n");
  }

 private:
  int64_t Add(const std::vector<int64_t>& costs, const UsagePiece* piece) {
    const bool holds = piece != nullptr && piece->first < piece->last;
    intervals_.push_back(holds ? List({piece->first, piece->last}) : "[0,0]");
    costs_.push_back(List(costs));
    usages_.push_back(
        List(holds ? piece->usage : std::vector<int64_t>(costs.size(), 0)));
    return static_cast<int64_t>(costs_.size()) - 1;
  }

  void AddEdge(int64_t a, int64_t b, const std::vector<int64_t>& cells) {
    ends_.push_back(List({a, b}));
    tables_.push_back(List(cells));
  }

  void AddPieces() {
    for (size_t i = 0; i < problem_.nodes.size(); ++i) {
      const ProblemNode& node = problem_.nodes[i];
      for (size_t p = 1; p < node.pieces.size(); ++p) {
        const std::vector<int64_t> free(node.costs.size(), 0);
        const int64_t tied = Add(free, &node.pieces[p]);
        AddEdge(static_cast<int64_t>(i), tied, Agreement(node.costs.size()));
      }
    }
  }

  // The times at which there is usage, each with the lowest of its limits;
  // without limits, with the usage that all nodes can have together.
  std::vector<UsageLimit> Segments() const {
    int64_t all = 0;
    std::vector<int64_t> times;
    for (const ProblemNode& node : problem_.nodes) {
      for (const UsagePiece& piece : node.pieces) {
        all += std::ranges::max(piece.usage);
        times.push_back(piece.first);
        times.push_back(piece.last);
      }
    }
    if (times.empty() || problem_.limits.empty()) return {};
    const auto [first, last] = std::ranges::minmax(times);
    times = {first, last};
    for (const UsageLimit& one : problem_.limits) {
      times.push_back(std::clamp(one.first, first, last));
      times.push_back(std::clamp(one.last, first, last));
    }
    std::ranges::sort(times);
    std::vector<UsageLimit> segments;
    for (size_t i = 0; i + 1 < times.size(); ++i) {
      if (times[i] == times[i + 1]) continue;
      UsageLimit segment{times[i], times[i + 1], all};
      for (const UsageLimit& one : problem_.limits) {
        if (one.first <= segment.first && segment.last <= one.last) {
          segment.limit = std::min(segment.limit, one.limit);
        }
      }
      segments.push_back(segment);
    }
    return segments;
  }

  const Problem& problem_;
  std::vector<std::string> intervals_;
  std::vector<std::string> costs_;
  std::vector<std::string> usages_;
  std::vector<std::string> ends_;
  std::vector<std::string> tables_;
};

}  // namespace

std::string WriteIopddl(const Problem& problem) {
  return Writer(problem).Write();
}

}  // namespace meshwright
