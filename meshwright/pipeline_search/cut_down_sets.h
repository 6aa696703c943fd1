// The best stages whose boundaries are among given down-sets.
//
// With all down-sets of a graph these are the best there are; with those of one
// order, the best contiguous cuts of it.
#ifndef MESHWRIGHT_PIPELINE_SEARCH_CUT_DOWN_SETS_H_
#define MESHWRIGHT_PIPELINE_SEARCH_CUT_DOWN_SETS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "meshwright/pipeline_search/down_sets.h"
#include "meshwright/pipeline_search/stage_graph.h"
#include "meshwright/pipeline_search/stage_moves.h"

namespace meshwright {

struct StageRange {
  int32_t first = 0;
  int32_t last = 0;

  bool operator==(const StageRange&) const = default;
};

// A graph with down-sets of it, ready to be cut in several ways.
class DownSetCutter {
 public:
  // `sets` hold the empty and the full one. `work` by node, in place of the
  // graph's. With `moves` that is work that cannot be elsewhere, what can is
  // priced. All outlive the cutter.
  DownSetCutter(const StageGraph& graph, const StageLimits& limits,
                const std::vector<NodeSet>& sets,
                const std::vector<double>& work,
                const StageMoves* moves = nullptr);

  enum class Aim : uint8_t {
    kFewestBytes,  // Then the best balance.
    kBestBalance,  // Then the fewest bytes, of what leads to it greedily.
  };

  // Stages by node, none with more than `bounds[stage]` work, none empty or
  // with too little unless `allow_empty`; nothing where there are no such.
  // O(pairs of sets that bounds leave).
  std::optional<std::vector<int32_t>> Cut(const std::vector<double>& bounds,
                                          Aim aim,
                                          bool allow_empty = false) const;

  // The fewest bytes of such stages, empty ones allowed, or `below` if there
  // are none with fewer.
  int64_t FewestBytes(const std::vector<double>& bounds, int64_t below) const;

  // By node: the stages that it is on where such stages have fewer bytes than
  // `below`; first > last where there are none.
  std::vector<StageRange> RangesBelow(const std::vector<double>& bounds,
                                      int64_t below) const;

 private:
  // A value that a set makes and others need.
  struct Open {
    int64_t bytes = 0;
    std::vector<int32_t> consumers;  // Not in the set.
  };
  struct Set {
    const NodeSet* nodes = nullptr;
    double work = 0;
    double movable = 0;  // Work that may be elsewhere, in addition.
    int64_t held = 0;
    int32_t size = 0;
    int32_t fixed_below = 0;  // Boundaries that fixed nodes allow: from
    int32_t fixed_above = 0;  // this one to that.
    std::vector<Open> open;
  };

  int64_t BytesInto(const Set& from, const Set& to) const;
  // What parts that are elsewhere cost; none where they do not suffice.
  std::optional<int64_t> PriceOfMoves(const Set& from, const Set& to,
                                      double bound) const;
  // The bytes from one boundary to the next, `stage` between them, if that is
  // possible; nothing where they are more than `most`.
  std::optional<int64_t> BytesOfStage(const Set& from, const Set& to,
                                      double bound, int32_t stage,
                                      bool allow_empty, int64_t most) const;
  // Sets, by index, that can be the boundary after `stage`.
  std::vector<int32_t> EndsOf(const std::vector<double>& bounds,
                              int32_t stage) const;
  struct Reached;
  std::vector<std::vector<Reached>> Reach(const std::vector<double>& bounds,
                                          Aim aim, bool allow_empty,
                                          int64_t below) const;

  const StageGraph& graph_;
  const StageLimits& limits_;
  const StageMoves* moves_;
  std::vector<Set> sets_;  // By work, then size.
  double total_ = 0;
};

// Stages by node, and the balance that was allowed for them.
struct BoundedCut {
  std::vector<int32_t> stages;
  double allowed = 0;
};

// The fewest bytes within 1 + tolerance or, where that cannot be met, within
// that many times the best balance there is. None: memory or fixed stages leave
// no way.
// Requires: the cutter has the works of `graph`.
std::optional<BoundedCut> CutWithin(const DownSetCutter& cutter,
                                    const StageGraph& graph,
                                    const StageLimits& limits);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_SEARCH_CUT_DOWN_SETS_H_
