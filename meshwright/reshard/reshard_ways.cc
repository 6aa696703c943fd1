#include "meshwright/reshard/reshard_ways.h"

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

  std::vector<ReshardWay> Find() && {
    if (!AddBetterFor(kSmallest)) ways_.emplace_back();  // Nothing to do.
    // With one block there is one way.
    const bool single = problem_.blocks.size() == 1 && problem_.views.empty();
    if (!single && AddBetterFor(kLargest)) FindBetween(0, 1);
    return std::move(ways_);
  }

 private:
  // The lower envelope of lines: what is best where two of them meet is either
  // these or lies below both.
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

  // Adds the best way for this size unless there is one as good.
  bool AddBetterFor(double bytes) {
    problem_.bytes = bytes;
    ReshardWay way;
    way.moves =
        ways_.empty()
            ? search_.Run(problem_)
            : search_.Run(problem_, CheapestWay(ways_, bytes).Price(bytes));
    if (way.moves.empty()) return false;
    for (SearchMove& move : way.moves) {
      way.latency += move.latency;
      move.price = (move.price - move.latency) / bytes;
      move.wire_bytes /= bytes;
      way.per_byte += move.price;
    }
    ways_.push_back(std::move(way));
    return true;
  }

  SearchProblem problem_;
  ReshardSearch& search_;
  std::vector<ReshardWay> ways_;
};

}  // namespace

std::vector<ReshardWay> FindWays(const SearchProblem& problem,
                                 ReshardSearch& search) {
  return WayFinder(problem, search).Find();
}

const ReshardWay& CheapestWay(const std::vector<ReshardWay>& ways,
                              double bytes) {
  const ReshardWay* best = &ways[0];
  for (const ReshardWay& way : ways) {
    if (way.Price(bytes) < best->Price(bytes)) best = &way;
  }
  return *best;
}

}  // namespace meshwright
