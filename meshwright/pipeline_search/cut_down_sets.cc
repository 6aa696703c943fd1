#include "meshwright/pipeline_search/cut_down_sets.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "meshwright/base/steady_time.h"

namespace meshwright {
namespace {

constexpr int64_t kUnreached = std::numeric_limits<int64_t>::max();

}  // namespace

// The best partial solution up to a boundary.
struct DownSetCutter::Reached {
  int64_t bytes = kUnreached;
  double balance = 0;
  int32_t from = -1;  // The set at the preceding boundary.
};

DownSetCutter::DownSetCutter(const StageGraph& graph, const StageLimits& limits,
                             const std::vector<NodeSet>& sets,
                             const std::vector<double>& work,
                             const StageMoves* moves, absl::Time deadline)
    : graph_(graph), limits_(limits), moves_(moves), deadline_(deadline) {
  total_ = std::accumulate(work.begin(), work.end(), 0.0);
  for (const NodeSet& nodes : sets) {
    Set set{.nodes = &nodes, .fixed_above = StageId(limits.stages())};
    for (int32_t node = 0; node < graph.size(); ++node) {
      const StageId fixed = graph.nodes[node].fixed;
      if (!nodes.Has(node)) {
        if (fixed != kAnyStage)
          set.fixed_above = std::min(set.fixed_above, fixed);
        continue;
      }
      set.work += work[node];
      if (moves != nullptr) set.movable += moves->work()[node] - work[node];
      set.held += graph.nodes[node].held;
      ++set.size;
      set.fixed_below = std::max(set.fixed_below, fixed + 1);
    }
    for (const StageGraph::Value& value : graph.values) {
      bool made = value.producer != kNoProducer && nodes.Has(value.producer);
      if (value.producer != kNoProducer && !made) continue;
      Open open{.bytes = value.bytes};
      for (const int32_t consumer : value.consumers) {
        if (!nodes.Has(consumer)) {
          open.consumers.push_back(consumer);
        } else {
          made = true;
        }
      }
      if (made && !open.consumers.empty()) set.open.push_back(std::move(open));
    }
    sets_.push_back(std::move(set));
  }
  std::ranges::sort(sets_, [](const Set& a, const Set& b) {
    return std::tie(a.work, a.size) < std::tie(b.work, b.size);
  });
}

int64_t DownSetCutter::BytesInto(const Set& from, const Set& to,
                                 int64_t most) const {
  int64_t bytes = 0;
  for (const Open& open : from.open) {
    if (bytes > most) break;
    for (const int32_t consumer : open.consumers) {
      if (to.nodes->Has(consumer)) {
        bytes += open.bytes;
        break;
      }
    }
  }
  return bytes;
}

std::optional<int64_t> DownSetCutter::PriceOfMoves(const Set& from,
                                                   const Set& to,
                                                   double bound) const {
  if (moves_ == nullptr) return 0;
  return moves_->Least(*from.nodes, *to.nodes,
                       to.work - from.work + to.movable - from.movable - bound);
}

std::vector<int32_t> DownSetCutter::EndsOf(const std::vector<double>& bounds,
                                           const std::vector<double>& least,
                                           StageId stage) const {
  const double rounding = kWorkRounding * total_;
  const int32_t boundary = stage + 1;
  const auto first = [&](const std::vector<double>& work) {
    return std::accumulate(work.begin(), work.begin() + boundary, 0.0);
  };
  const auto rest = [&](const std::vector<double>& work) {
    return std::accumulate(work.begin() + boundary, work.end(), 0.0);
  };
  // Each stage may have less than `least` by what sums are rounded by.
  const double slack = limits_.stages() * rounding;
  const double lowest = std::max(total_ - rest(bounds), first(least) - slack);
  const double highest = std::min(first(bounds), total_ - rest(least) + slack);
  std::vector<int32_t> ends;
  for (int32_t end = 0; end < std::ssize(sets_); ++end) {
    const Set& to = sets_[end];
    if (to.work > highest + rounding || to.work < lowest - rounding ||
        boundary < to.fixed_below || boundary > to.fixed_above ||
        (boundary == limits_.stages() && to.size != graph_.size())) {
      continue;
    }
    ends.push_back(end);
  }
  return ends;
}

std::optional<int64_t> DownSetCutter::BytesOfStage(const Set& from,
                                                   const Set& to, double bound,
                                                   StageId stage,
                                                   bool allow_empty,
                                                   int64_t most) const {
  if (to.size < from.size || (to.size == from.size && !allow_empty) ||
      (!limits_.memory.empty() &&
       to.held - from.held > limits_.memory[stage]) ||
      !from.nodes->IsSubsetOf(*to.nodes)) {
    return std::nullopt;
  }
  const int64_t bytes = BytesInto(from, to, most);
  if (bytes > most) return std::nullopt;
  const auto price = PriceOfMoves(from, to, bound);
  if (!price.has_value()) return std::nullopt;
  return bytes + *price;
}

// By boundary and set.
std::vector<std::vector<DownSetCutter::Reached>> DownSetCutter::Reach(
    const std::vector<double>& bounds, Aim aim, bool allow_empty,
    int64_t below) const {
  const int32_t stages = limits_.stages();
  const double rounding = kWorkRounding * total_;
  const std::vector<double> shares = limits_.SharesOf(total_);
  std::vector<double> least(stages, 0);
  if (!allow_empty) least = limits_.LeastOf(total_);
  // By how much moved parts may reduce the cost.
  const int64_t saved = moves_ == nullptr ? 0 : -moves_->least();
  std::vector<std::vector<Reached>> reached(stages + 1,
                                            std::vector<Reached>(sets_.size()));
  const auto empty = std::ranges::find(sets_, 0, &Set::size) - sets_.begin();
  reached[0][empty].bytes = 0;
  for (StageId stage{0}; stage < stages; ++stage) {
    const std::vector<int32_t> ends = EndsOf(bounds, least, stage);
    for (int32_t begin = 0; begin < std::ssize(sets_); ++begin) {
      const Reached& here = reached[stage][begin];
      if (here.bytes == kUnreached) continue;
      if (SteadyNow() > deadline_) return reached;
      const Set& from = sets_[begin];
      for (auto at = std::ranges::lower_bound(
               ends, from.work - rounding, {},
               [&](int32_t end) { return sets_[end].work; });
           at != ends.end(); ++at) {
        const Set& to = sets_[*at];
        const double work = to.work - from.work;
        if (work > bounds[stage] + rounding) break;
        if (work < least[stage] - rounding) continue;
        Reached& known = reached[stage + 1][*at];
        const double load = shares[stage] > 0 ? work / shares[stage] : 0;
        const double balance = std::max(here.balance, load);
        if (aim == Aim::kBestBalance && known.from >= 0 &&
            balance > known.balance) {
          continue;
        }
        const int64_t useful =
            aim == Aim::kBestBalance ||
                    std::min(known.bytes, below) == kUnreached
                ? kUnreached
                : std::min(known.bytes, below) + saved - here.bytes;
        if (useful < 0) continue;
        const auto bytes = BytesOfStage(from, to, bounds[stage] + rounding,
                                        stage, allow_empty, useful);
        if (!bytes.has_value()) continue;
        const Reached next{
            .bytes = here.bytes + *bytes, .balance = balance, .from = begin};
        const bool better =
            aim == Aim::kFewestBytes
                ? std::tie(next.bytes, next.balance) <
                      std::tie(known.bytes, known.balance)
                : known.from < 0 || std::tie(next.balance, next.bytes) <
                                        std::tie(known.balance, known.bytes);
        if (better) known = next;
      }
    }
  }
  return reached;
}

std::vector<StageRange> DownSetCutter::RangesBelow(
    const std::vector<double>& bounds, int64_t below) const {
  const int32_t stages = limits_.stages();
  const double rounding = kWorkRounding * total_;
  const int64_t saved = moves_ == nullptr ? 0 : -moves_->least();
  const auto reached =
      Reach(bounds, Aim::kFewestBytes, /*allow_empty=*/true, below);
  std::vector<StageRange> ranges(graph_.nodes.size(),
                                 {.first = StageId(stages), .last = kNoStage});
  const std::vector<double> none(stages, 0);
  // By set: bytes from the current boundary to the end.
  std::vector<int64_t> rest(sets_.size(), kUnreached);
  const auto full =
      std::ranges::find(sets_, graph_.size(), &Set::size) - sets_.begin();
  rest[full] = 0;
  for (StageId stage(stages); stage-- > 0;) {
    const std::vector<int32_t> ends = EndsOf(bounds, none, stage);
    std::vector<int64_t> longer(sets_.size(), kUnreached);
    for (int32_t begin = 0; begin < std::ssize(sets_); ++begin) {
      const int64_t here = reached[stage][begin].bytes;
      if (here == kUnreached) continue;
      const Set& from = sets_[begin];
      for (const int32_t end : ends) {
        const Set& to = sets_[end];
        if (rest[end] == kUnreached || to.work < from.work - rounding) continue;
        if (to.work - from.work > bounds[stage] + rounding) break;
        const int64_t useful = below + saved - here - rest[end];
        if (useful < 0) continue;
        const auto bytes =
            BytesOfStage(from, to, bounds[stage] + rounding, stage,
                         /*allow_empty=*/true, useful);
        if (!bytes.has_value()) continue;
        longer[begin] = std::min(longer[begin], *bytes + rest[end]);
        if (here + *bytes + rest[end] >= below) continue;
        for (int32_t node = 0; node < graph_.size(); ++node) {
          if (to.nodes->Has(node) && !from.nodes->Has(node)) {
            ranges[node].first = std::min(ranges[node].first, stage);
            ranges[node].last = std::max(ranges[node].last, stage);
          }
        }
      }
    }
    rest = std::move(longer);
  }
  return ranges;
}

int64_t DownSetCutter::FewestBytes(const std::vector<double>& bounds,
                                   int64_t below) const {
  const auto reached =
      Reach(bounds, Aim::kFewestBytes, /*allow_empty=*/true, below);
  const auto full =
      std::ranges::find(sets_, graph_.size(), &Set::size) - sets_.begin();
  return std::min(below, reached.back()[full].bytes);
}

std::optional<std::vector<StageId>> DownSetCutter::Cut(
    const std::vector<double>& bounds, Aim aim, bool allow_empty) const {
  const int32_t stages = limits_.stages();
  const auto reached = Reach(bounds, aim, allow_empty, kUnreached);
  const auto full =
      std::ranges::find(sets_, graph_.size(), &Set::size) - sets_.begin();
  if (reached[stages][full].from < 0) return std::nullopt;
  std::vector<StageId> result(graph_.nodes.size());
  int32_t end = static_cast<int32_t>(full);
  for (StageId stage(stages); stage-- > 0;) {
    const int32_t begin = reached[stage + 1][end].from;
    for (int32_t node = 0; node < graph_.size(); ++node) {
      if (sets_[end].nodes->Has(node) && !sets_[begin].nodes->Has(node)) {
        result[node] = stage;
      }
    }
    end = begin;
  }
  return result;
}

namespace {

double HeaviestNode(const StageGraph& graph) {
  double most = 0;
  for (const StageGraph::Node& node : graph.nodes) {
    most = std::max(most, node.work);
  }
  return most;
}

// Whether some stage may have the heaviest node while the others have what
// they need at least: what a cut within this balance requires.
bool HasRoomForHeaviest(const StageGraph& graph, const StageLimits& limits,
                        double allowed) {
  const double total = graph.TotalWork();
  const double rounding = kWorkRounding * total;
  const double heaviest = HeaviestNode(graph);
  const std::vector<double> bounds = limits.BoundsOf(total, allowed);
  const std::vector<double> least = limits.LeastOf(total);
  const double needed = std::accumulate(least.begin(), least.end(), 0.0);
  for (StageId stage{0}; stage < limits.stages(); ++stage) {
    if (heaviest <= bounds[stage] + rounding &&
        heaviest + needed - least[stage] <=
            total + limits.stages() * rounding) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<BoundedCut> CutWithin(const DownSetCutter& cutter,
                                    const StageGraph& graph,
                                    const StageLimits& limits,
                                    double most_balance,
                                    const StagePolicy& policy) {
  const std::vector<double> shares = limits.SharesOf(graph.TotalWork());
  const double total = graph.TotalWork();
  const double wanted = 1 + limits.tolerance;
  const auto cut = [&](double allowed, DownSetCutter::Aim aim) {
    return HasRoomForHeaviest(graph, limits, allowed)
               ? cutter.Cut(limits.BoundsOf(total, allowed), aim)
               : std::nullopt;
  };
  if (auto stages = cut(wanted, DownSetCutter::Aim::kFewestBytes)) {
    return BoundedCut{*std::move(stages), wanted};
  }
  double most = 1;  // All work on one stage.
  for (const double share : shares) {
    most = std::max(most, total / share);
  }
  if (wanted >= most_balance) return std::nullopt;
  for (double allowed = wanted * policy.growth;; allowed *= policy.growth) {
    const auto balanced =
        cut(std::min(allowed, most_balance), DownSetCutter::Aim::kBestBalance);
    if (balanced.has_value()) {
      const double balance = CostOf(graph, limits, *balanced).balance;
      const double best = balance * (1 + limits.tolerance);
      auto stages = cut(best, DownSetCutter::Aim::kFewestBytes);
      return BoundedCut{stages.has_value() ? *std::move(stages) : *balanced,
                        best};
    }
    if (allowed > most || allowed >= most_balance) return std::nullopt;
  }
}

}  // namespace meshwright
