// The best stages whose boundaries are among given down-sets, by dynamic
// programming.
//
// Given all down-sets of a graph, these are optimal; given those of one linear
// order, they are the best contiguous stages in that order.
#ifndef MESHWRIGHT_PIPELINE_SEARCH_CUT_DOWN_SETS_H_
#define MESHWRIGHT_PIPELINE_SEARCH_CUT_DOWN_SETS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "meshwright/pipeline_search/down_sets.h"
#include "meshwright/pipeline_search/stage_graph.h"
#include "meshwright/pipeline_search/stage_moves.h"
#include "meshwright/pipeline_search/stage_policy.h"

namespace meshwright {

struct StageRange {
  StageId first;
  StageId last;

  bool operator==(const StageRange&) const = default;
};

// A graph and some of its down-sets, prepared for cutting under various bounds.
class DownSetCutter {
 public:
  // `sets` must contain the empty and the full one. `work`, by node, replaces
  // the graph's. With `moves`, `work` is what cannot be on another stage than
  // its cluster, and the rest is priced by `moves`. All arguments must outlive
  // the cutter. Nothing is found any more after `deadline`.
  DownSetCutter(const StageGraph& graph, const StageLimits& limits,
                const std::vector<NodeSet>& sets,
                const std::vector<double>& work,
                const StageMoves* moves = nullptr,
                absl::Time deadline = absl::InfiniteFuture());

  enum class Aim : uint8_t {
    kFewestBytes,  // Ties: the best balance.
    kBestBalance,  // Ties: the fewest bytes among greedy continuations.
  };

  // By node: stages with at most `bounds[stage]` work each and, unless
  // `allow_empty`, none empty or with too little work; nullopt if there are
  // none. O(pairs of sets that the bounds allow).
  std::optional<std::vector<StageId>> Cut(const std::vector<double>& bounds,
                                          Aim aim,
                                          bool allow_empty = false) const;

  // The fewest bytes of such stages, empty ones allowed; `below` if there are
  // none with fewer.
  int64_t FewestBytes(const std::vector<double>& bounds, int64_t below) const;

  // By node: the stages that it is on in any such assignment with fewer than
  // `below` bytes; first > last if there is none.
  std::vector<StageRange> RangesBelow(const std::vector<double>& bounds,
                                      int64_t below) const;

 private:
  // A value computed in a set and needed outside.
  struct Open {
    int64_t bytes = 0;
    std::vector<int32_t> consumers;  // Not in the set.
  };
  struct Set {
    const NodeSet* nodes = nullptr;
    double work = 0;
    double movable = 0;  // Additional work that may be on another stage.
    int64_t held = 0;
    int32_t size = 0;
    // The boundaries that fixed nodes allow for the set: from this one
    StageId fixed_below;
    StageId fixed_above;  // to this one.
    std::vector<Open> open;
  };

  // Counts until the sum is above `most`.
  int64_t BytesInto(const Set& from, const Set& to, int64_t most) const;
  // A lower bound on the cost of moving parts to other stages; nullopt if
  // moving all of them is not enough.
  std::optional<int64_t> PriceOfMoves(const Set& from, const Set& to,
                                      double bound) const;
  // The bytes of `stage` between two boundaries; nullopt if it is impossible,
  // or they are more than `most`.
  std::optional<int64_t> BytesOfStage(const Set& from, const Set& to,
                                      double bound, StageId stage,
                                      bool allow_empty, int64_t most) const;
  // Indices of the sets that can be the boundary after `stage`, with at most
  // `bounds` and at least `least` of the work on each stage.
  std::vector<int32_t> EndsOf(const std::vector<double>& bounds,
                              const std::vector<double>& least,
                              StageId stage) const;
  struct Reached;
  std::vector<std::vector<Reached>> Reach(const std::vector<double>& bounds,
                                          Aim aim, bool allow_empty,
                                          int64_t below) const;

  const StageGraph& graph_;
  const StageLimits& limits_;
  const StageMoves* moves_;
  std::vector<Set> sets_;  // By work, then size.
  double total_ = 0;
  absl::Time deadline_;
};

// Stages by node, and the balance that was allowed for them.
struct BoundedCut {
  std::vector<StageId> stages;
  double allowed = 0;
};

// The fewest bytes within a balance of 1 + tolerance or, if that is impossible,
// (1 + tolerance) times the best balance. nullopt if memory or fixed stages
// leave no assignment, or its balance is above `most_balance`. Requires: the
// cutter uses the work of `graph`.
std::optional<BoundedCut> CutWithin(const DownSetCutter& cutter,
                                    const StageGraph& graph,
                                    const StageLimits& limits,
                                    double most_balance,
                                    const StagePolicy& policy);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_CUT_DOWN_SETS_H_
