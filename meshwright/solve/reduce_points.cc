// ReducePoints: which points can still be violated, and what usage they allow.
#include <algorithm>
#include <map>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "meshwright/solve/points.h"

namespace meshwright {
namespace {

// Moves the usage that all options have in common to the capacities, as changes
// by point.
void SubtractSmallest(std::vector<PointPiece>* pieces,
                      std::vector<int64_t>* steps) {
  for (PointPiece& piece : *pieces) {
    const int64_t smallest = std::ranges::min(piece.usage);
    if (smallest > 0) {
      (*steps)[piece.first] += smallest;
      (*steps)[piece.last] -= smallest;
      for (int64_t& usage : piece.usage) usage -= smallest;
    }
  }
  std::erase_if(*pieces, [](const PointPiece& piece) {
    return std::ranges::max(piece.usage) == 0;
  });
}

// Minimum capacity over ranges of points.
class RangeMin {
 public:
  explicit RangeMin(const std::vector<Point>& points) {
    std::vector<int64_t> row;
    for (const Point& point : points) row.push_back(point.capacity);
    levels_.push_back(row);
    for (size_t step = 1; 2 * step <= points.size(); step *= 2) {
      const std::vector<int64_t>& below = levels_.back();
      std::vector<int64_t> above(below.size() - step);
      for (size_t i = 0; i < above.size(); ++i) {
        above[i] = std::min(below[i], below[i + step]);
      }
      levels_.push_back(std::move(above));
    }
  }

  int64_t operator()(int32_t first, int32_t last) const {
    int level = 0;
    while ((2 << level) <= last - first) ++level;
    return std::min(levels_[level][first], levels_[level][last - (1 << level)]);
  }

 private:
  std::vector<std::vector<int64_t>> levels_;
};

// Drops options for which some point has no capacity.
bool DropUnfitOptions(Graph& graph) {
  bool changed = false;
  const RangeMin capacity(graph.points());
  for (const int32_t v : graph.AliveNodes()) {
    const GraphNode& node = graph.node(v);
    std::vector<char> unfit(node.options(), 0);
    for (const PointPiece& piece : node.pieces) {
      const int64_t room = capacity(piece.first, piece.last);
      for (int32_t option = 0; option < node.options(); ++option) {
        unfit[option] |= piece.usage[option] > room;
      }
    }
    std::vector<int32_t> keep;
    for (int32_t option = 0; option < node.options(); ++option) {
      if (!unfit[option]) keep.push_back(option);
    }
    if (std::ssize(keep) == node.options()) continue;
    // The node need not have an option that uses the least at every point.
    if (keep.empty()) {
      graph.SetInfeasible(absl::StrCat("node ", v,
                                       " has no option that fits the usage "
                                       "limit beside what all others use"));
      return true;
    }
    graph.KeepOptions(v, keep);
    changed = true;
  }
  return changed;
}

std::vector<char> SlackPoints(const Graph& graph) {
  std::vector<int64_t> steps(graph.points().size() + 1, 0);
  for (const int32_t v : graph.AliveNodes()) {
    for (const PointPiece& piece : graph.node(v).pieces) {
      const int64_t most = std::ranges::max(piece.usage);
      steps[piece.first] += most;
      steps[piece.last] -= most;
    }
  }
  std::vector<char> slack(graph.points().size(), 0);
  int64_t now = 0;
  for (size_t p = 0; p < slack.size(); ++p) {
    now += steps[p];
    slack[p] = now <= graph.points()[p].capacity;
  }
  return slack;
}

// Iterates over the points relative to an earlier one, and keeps lower bounds,
// summed over nodes, on how much usage has grown since then, and on how much it
// has fallen.
class Walk {
 public:
  explicit Walk(const Graph& graph) : graph_(graph) {
    const auto count = static_cast<size_t>(graph.node_count());
    now_.assign(count, nullptr);
    then_.assign(count, nullptr);
    growth_.assign(count, 0);
    fall_.assign(count, 0);
    changes_.resize(graph.points().size() + 1);
    for (const int32_t v : graph.AliveNodes()) {
      // Ends first: the pieces of a node are disjoint but may be adjacent.
      for (const PointPiece& piece : graph.node(v).pieces) {
        changes_[piece.last].push_back({v, nullptr});
        changes_[piece.first].push_back({v, &piece});
      }
    }
    for (auto& at : changes_) {
      std::ranges::stable_partition(
          at, [](const auto& change) { return change.second == nullptr; });
    }
  }

  void Step(size_t point) {
    for (const auto& [v, piece] : changes_[point]) {
      now_[v] = piece;
      Refresh(v);
      moved_.push_back(v);
    }
  }

  // Lower bounds on u(now) - u(then), and on u(then) - u(now).
  int64_t growth() const { return total_growth_; }
  int64_t fall() const { return total_fall_; }

  void Remember() {
    for (const int32_t v : moved_) {
      then_[v] = now_[v];
      Refresh(v);
    }
    moved_.clear();
  }

 private:
  void Refresh(int32_t v) {
    int64_t growth = 0;
    int64_t fall = 0;
    if (now_[v] != then_[v]) {
      growth = fall = INT64_MAX;
      for (int32_t option = 0; option < graph_.node(v).options(); ++option) {
        const int64_t difference = (now_[v] ? now_[v]->usage[option] : 0) -
                                   (then_[v] ? then_[v]->usage[option] : 0);
        growth = std::min(growth, difference);
        fall = std::min(fall, -difference);
      }
    }
    total_growth_ += growth - growth_[v];
    total_fall_ += fall - fall_[v];
    growth_[v] = growth;
    fall_[v] = fall;
  }

  const Graph& graph_;
  std::vector<std::vector<std::pair<int32_t, const PointPiece*>>> changes_;
  std::vector<const PointPiece*> now_, then_;
  std::vector<int64_t> growth_, fall_;
  std::vector<int32_t> moved_;
  int64_t total_growth_ = 0;
  int64_t total_fall_ = 0;
};

// Marks points that the last kept point implies, or that imply it.
bool MarkDominated(Graph& graph, std::vector<char>* drop) {
  Walk walk(graph);
  const std::vector<Point>& points = graph.points();
  int64_t kept = -1;
  bool any = false;
  for (size_t p = 0; p < points.size(); ++p) {
    walk.Step(p);
    if ((*drop)[p]) continue;
    if (kept >= 0) {
      const int64_t room = points[p].capacity - points[kept].capacity;
      if (walk.fall() >= -room) {
        (*drop)[p] = 1;
        graph.SetImpliedBy(points[p].time, points[kept].time);
        any = true;
        continue;
      }
      if (walk.growth() >= room) {
        (*drop)[kept] = 1;
        graph.SetImpliedBy(points[kept].time, points[p].time);
        any = true;
      }
    }
    kept = static_cast<int64_t>(p);
    walk.Remember();
  }
  return any;
}

void DropPoints(Graph& graph, const std::vector<char>& drop) {
  std::vector<int32_t> position(drop.size() + 1, 0);
  for (size_t p = 0; p < drop.size(); ++p) {
    position[p + 1] = position[p] + (drop[p] ? 0 : 1);
  }
  for (const int32_t v : graph.AliveNodes()) {
    GraphNode& node = graph.mutable_node(v);
    if (node.pieces.empty()) continue;
    for (PointPiece& piece : node.pieces) {
      piece.first = position[piece.first];
      piece.last = position[piece.last];
    }
    std::erase_if(node.pieces, [](const PointPiece& piece) {
      return piece.first == piece.last;
    });
    node.pieces = DisjointPieces(node.pieces, node.options());
    graph.TouchNode(v);
  }
  std::vector<Point> kept;
  for (size_t p = 0; p < drop.size(); ++p) {
    if (!drop[p]) kept.push_back(graph.points()[p]);
  }
  graph.points() = std::move(kept);
}

}  // namespace

std::vector<PointPiece> DisjointPieces(const std::vector<PointPiece>& pieces,
                                       int32_t options) {
  if (pieces.size() <= 1) return pieces;
  std::map<int32_t, std::vector<std::pair<size_t, int64_t>>> changes;
  for (size_t i = 0; i < pieces.size(); ++i) {
    changes[pieces[i].first].push_back({i, 1});
    changes[pieces[i].last].push_back({i, -1});
  }
  std::vector<PointPiece> result;
  std::vector<int64_t> now(options, 0);
  for (auto change = changes.begin(); change != changes.end(); ++change) {
    for (const auto& [i, sign] : change->second) {
      for (int32_t option = 0; option < options; ++option) {
        now[option] += sign * pieces[i].usage[option];
      }
    }
    const auto next = std::next(change);
    if (next == changes.end()) break;
    if (!result.empty() && result.back().last == change->first &&
        result.back().usage == now) {
      result.back().last = next->first;
    } else {
      result.push_back({change->first, next->first, now});
    }
  }
  return result;
}

bool ReducePoints(Graph& graph) {
  std::vector<Point>& points = graph.points();
  std::vector<int64_t> steps(points.size() + 1, 0);
  for (const int32_t v : graph.AliveNodes()) {
    GraphNode& node = graph.mutable_node(v);
    if (node.pieces.empty()) continue;
    node.pieces = DisjointPieces(node.pieces, node.options());
    SubtractSmallest(&node.pieces, &steps);
    if (node.pieces.empty()) graph.TouchNode(v);
  }
  int64_t now = 0;
  for (size_t p = 0; p < points.size(); ++p) {
    now += steps[p];
    points[p].capacity -= now;
  }
  if (points.empty()) return false;
  const Point& tightest =
      *std::ranges::min_element(points, {}, &Point::capacity);
  if (tightest.capacity < 0) {
    graph.SetInfeasible(absl::StrCat("usage limit ", tightest.limit,
                                     " is too small: at time ", tightest.time,
                                     " every assignment uses at least ",
                                     tightest.limit - tightest.capacity));
    return true;
  }
  if (DropUnfitOptions(graph)) return true;
  std::vector<char> drop = SlackPoints(graph);
  for (int pass = 0; pass < 4 && MarkDominated(graph, &drop); ++pass) {
  }
  if (std::ranges::none_of(drop, [](char c) { return c != 0; })) return false;
  DropPoints(graph, drop);
  return true;
}

}  // namespace meshwright
