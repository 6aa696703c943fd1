#include "meshwright/reshard/reshard_paths.h"

#include <utility>

namespace meshwright {
namespace {

// The sizes of tensors looked at, in bytes on a device.
constexpr double kSmallest = 64;
constexpr double kLargest = 1e13;
constexpr int kMaxWays = 8;

class WayFinder {
 public:
  WayFinder(const SearchProblem& problem, ReshardSearch& search)
      : problem_(problem), search_(search) {}

  std::vector<ReshardPath> Find() && {
    if (!AddBetterFor(kSmallest)) ways_.emplace_back();  // Nothing to do.
    // With one block there is one way.
    const bool single = problem_.blocks.size() == 1 && problem_.views.empty();
    if (!single && AddBetterFor(kLargest)) FindBetween(0, 1);
    return std::move(ways_);
  }

 private:
  // The lower envelope of lines: the best path at the intersection of two lines
  // is either one of these or lies below both.
  void FindBetween(size_t small, size_t large) {
    if (ways_.size() >= kMaxWays) return;
    const double slope = ways_[small].per_byte - ways_[large].per_byte;
    if (slope <= 0) return;
    const double bytes = (ways_[large].latency - ways_[small].latency) / slope;
    if (bytes <= kSmallest || bytes >= kLargest) return;
    if (!AddBetterFor(bytes)) return;
    const size_t middle = ways_.size() - 1;
    FindBetween(small, middle);
    FindBetween(middle, large);
  }

  // Adds the best path for this size unless there is one as good.
  bool AddBetterFor(double bytes) {
    problem_.bytes = bytes;
    ReshardPath path;
    path.moves =
        ways_.empty()
            ? search_.Run(problem_)
            : search_.Run(problem_, CheapestPath(ways_, bytes).Price(bytes));
    if (path.moves.empty()) return false;
    for (SearchMove& move : path.moves) {
      path.latency += move.latency;
      move.price = (move.price - move.latency) / bytes;
      move.wire_bytes /= bytes;
      path.per_byte += move.price;
    }
    ways_.push_back(std::move(path));
    return true;
  }

  SearchProblem problem_;
  ReshardSearch& search_;
  std::vector<ReshardPath> ways_;
};

}  // namespace

std::vector<ReshardPath> FindReshardPaths(const SearchProblem& problem,
                                          ReshardSearch& search) {
  return WayFinder(problem, search).Find();
}

const ReshardPath& CheapestPath(const std::vector<ReshardPath>& paths,
                                double bytes) {
  const ReshardPath* best = &paths[0];
  for (const ReshardPath& path : paths) {
    if (path.Price(bytes) < best->Price(bytes)) best = &path;
  }
  return *best;
}

}  // namespace meshwright
