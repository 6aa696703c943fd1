#include "meshwright/pipeline_search/cut_down_sets.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace meshwright {
namespace {

// How much the allowed balance grows while nothing is found.
constexpr double kGrowth = 1.25;

constexpr int64_t kUnreached = std::numeric_limits<int64_t>::max();

}  // namespace

// The best way to a boundary.
struct DownSetCutter::Reached {
  int64_t bytes = kUnreached;
  double balance = 0;
  int32_t from = -1;  // The set at the boundary before.
};

DownSetCutter::DownSetCutter(const StageGraph& graph, const StageLimits& limits,
                             const std::vector<NodeSet>& sets,
                             const std::vector<double>& work,
                             const StageMoves* moves)
    : graph_(graph), limits_(limits), moves_(moves) {
  total_ = std::accumulate(work.begin(), work.end(), 0.0);
  for (const NodeSet& nodes : sets) {
    Set set{.nodes = &nodes, .fixed_above = limits.stages()};
    for (int32_t node = 0; node < graph.size(); ++node) {
      const int32_t fixed = graph.nodes[node].fixed;
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

int64_t DownSetCutter::BytesInto(const Set& from, const Set& to) const {
  int64_t bytes = 0;
  for (const Open& open : from.open) {
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
                                           int32_t stage) const {
  const double rounding = kWorkRounding * total_;
  const auto next = bounds.begin() + stage + 1;
  const double before = std::accumulate(bounds.begin(), next, 0.0);
  const double after = std::accumulate(next, bounds.end(), 0.0);
  const int32_t boundary = stage + 1;
  std::vector<int32_t> ends;
  for (int32_t end = 0; end < std::ssize(sets_); ++end) {
    const Set& to = sets_[end];
    if (to.work > before + rounding || to.work < total_ - after - rounding ||
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
                                                   int32_t stage,
                                                   bool allow_empty,
                                                   int64_t most) const {
  if (to.size < from.size || (to.size == from.size && !allow_empty) ||
      (!limits_.memory.empty() &&
       to.held - from.held > limits_.memory[stage]) ||
      !from.nodes->IsSubsetOf(*to.nodes)) {
    return std::nullopt;
  }
  const int64_t bytes = BytesInto(from, to);
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
  // How much cheaper it may become by what is elsewhere.
  const int64_t saved = moves_ == nullptr ? 0 : -moves_->least();
  std::vector<std::vector<Reached>> reached(stages + 1,
                                            std::vector<Reached>(sets_.size()));
  const auto empty = std::ranges::find(sets_, 0, &Set::size) - sets_.begin();
  reached[0][empty].bytes = 0;
  for (int32_t stage = 0; stage < stages; ++stage) {
    const std::vector<int32_t> ends = EndsOf(bounds, stage);
    for (int32_t begin = 0; begin < std::ssize(sets_); ++begin) {
      const Reached& here = reached[stage][begin];
      if (here.bytes == kUnreached) continue;
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
        const int64_t useful =
            aim == Aim::kBestBalance ||
                    std::min(known.bytes, below) == kUnreached
                ? kUnreached
                : std::min(known.bytes, below) + saved - here.bytes;
        if (useful < 0) continue;
        const auto bytes = BytesOfStage(from, to, bounds[stage] + rounding,
                                        stage, allow_empty, useful);
        if (!bytes.has_value()) continue;
        const double load = shares[stage] > 0 ? work / shares[stage] : 0;
        const Reached next{.bytes = here.bytes + *bytes,
                           .balance = std::max(here.balance, load),
                           .from = begin};
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
                                 {.first = stages, .last = -1});
  // By set: bytes from the boundary that is looked at to the end.
  std::vector<int64_t> rest(sets_.size(), kUnreached);
  const auto full =
      std::ranges::find(sets_, graph_.size(), &Set::size) - sets_.begin();
  rest[full] = 0;
  for (int32_t stage = stages; stage-- > 0;) {
    const std::vector<int32_t> ends = EndsOf(bounds, stage);
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

std::optional<std::vector<int32_t>> DownSetCutter::Cut(
    const std::vector<double>& bounds, Aim aim, bool allow_empty) const {
  const int32_t stages = limits_.stages();
  const auto reached = Reach(bounds, aim, allow_empty, kUnreached);
  const auto full =
      std::ranges::find(sets_, graph_.size(), &Set::size) - sets_.begin();
  if (reached[stages][full].from < 0) return std::nullopt;
  std::vector<int32_t> result(graph_.nodes.size());
  int32_t end = static_cast<int32_t>(full);
  for (int32_t stage = stages; stage-- > 0;) {
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

std::optional<BoundedCut> CutWithin(const DownSetCutter& cutter,
                                    const StageGraph& graph,
                                    const StageLimits& limits) {
  const std::vector<double> shares = limits.SharesOf(graph.TotalWork());
  const double total = graph.TotalWork();
  const double wanted = 1 + limits.tolerance;
  if (auto stages = cutter.Cut(limits.BoundsOf(total, wanted),
                               DownSetCutter::Aim::kFewestBytes)) {
    return BoundedCut{*std::move(stages), wanted};
  }
  double most = 1;  // All work on one stage.
  for (const double share : shares) {
    most = std::max(most, total / share);
  }
  for (double allowed = wanted * kGrowth;; allowed *= kGrowth) {
    const auto balanced = cutter.Cut(limits.BoundsOf(total, allowed),
                                     DownSetCutter::Aim::kBestBalance);
    if (balanced.has_value()) {
      const double best =
          CostOf(graph, limits, *balanced).balance * (1 + limits.tolerance);
      auto stages = cutter.Cut(limits.BoundsOf(total, best),
                               DownSetCutter::Aim::kFewestBytes);
      return BoundedCut{stages.has_value() ? *std::move(stages) : *balanced,
                        best};
    }
    if (allowed > most) return std::nullopt;
  }
}

}  // namespace meshwright
