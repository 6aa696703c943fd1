#include "meshwright/solve/points.h"

#include <algorithm>
#include <map>

namespace meshwright {
namespace {

struct Change {
  int starts = 0;
  int ends = 0;
};

// The lowest limit at `time`; INT64_MAX if there is none.
int64_t LimitAt(const Problem& problem, int64_t time) {
  int64_t limit = INT64_MAX;
  for (const UsageLimit& one : problem.limits) {
    if (time >= one.first && time < one.last) {
      limit = std::min(limit, one.limit);
    }
  }
  return limit;
}

// Times at which a usage starts or ends, or a limit changes.
std::map<int64_t, Change> Changes(const Problem& problem) {
  std::map<int64_t, Change> changes;
  for (const ProblemNode& node : problem.nodes) {
    for (const UsagePiece& piece : node.pieces) {
      if (piece.first >= piece.last) continue;
      ++changes[piece.first].starts;
      ++changes[piece.last].ends;
    }
  }
  for (const UsageLimit& limit : problem.limits) {
    changes.try_emplace(limit.first);
    changes.try_emplace(limit.last);
  }
  return changes;
}

// The points of the piece: those whose time is in the interval.
PointPiece Project(const UsagePiece& piece, const std::vector<Point>& points) {
  const auto at = [&](int64_t time) {
    const auto position =
        std::ranges::lower_bound(points, time, {}, &Point::time);
    return static_cast<int32_t>(position - points.begin());
  };
  return {at(piece.first), at(piece.last), piece.usage};
}

}  // namespace

ProblemPoints FindPoints(const Problem& problem) {
  ProblemPoints found;
  found.pieces.resize(problem.nodes.size());
  if (problem.limits.empty()) return found;
  const std::map<int64_t, Change> changes = Changes(problem);
  // A span between two changes matters unless a neighbouring span has all its
  // pieces and no higher limit.
  int64_t before = INT64_MAX;  // The limit of the span before.
  // Whether a usage has started since the last point.
  bool grew = false;
  for (auto change = changes.begin(); change != changes.end(); ++change) {
    const int64_t time = change->first;
    const int64_t limit = LimitAt(problem, time);
    grew |= change->second.starts > 0 || limit < before;
    const auto next = std::next(change);
    const int64_t after =
        next == changes.end() ? INT64_MAX : LimitAt(problem, next->first);
    const bool shrinks =
        next == changes.end() || next->second.ends > 0 || after > limit;
    before = limit;
    if (!grew || !shrinks || limit == INT64_MAX) continue;
    found.points.push_back({limit, limit, time});
    grew = false;
  }
  for (size_t v = 0; v < problem.nodes.size(); ++v) {
    for (const UsagePiece& piece : problem.nodes[v].pieces) {
      if (piece.first >= piece.last) continue;
      PointPiece projected = Project(piece, found.points);
      if (projected.first == projected.last) continue;
      found.pieces[v].push_back(std::move(projected));
    }
  }
  return found;
}

}  // namespace meshwright
