// Finds the cheapest sequence of moves between two arrangements of blocks of
// axes.
//
// Bidirectional Dijkstra with lower bounds: forward from the source and
// backward from the target, joined where a permute (or nothing) leads from one
// arrangement to the other. One permute is enough: it can rename all axes at
// once, and the moves behind it use the names of the target.
#ifndef MESHWRIGHT_RESHARD_RESHARD_SEARCH_H_
#define MESHWRIGHT_RESHARD_RESHARD_SEARCH_H_

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "meshwright/reshard/prices.h"
#include "meshwright/reshard/reshard_moves.h"

namespace meshwright {

class ReshardSearch {
 public:
  explicit ReshardSearch(const Prices& prices)
      : prices_(prices), least_(prices.Least()) {}

  // Deterministic. Empty if no path costs less than `at_most`.
  std::vector<SearchMove> Run(
      const SearchProblem& problem,
      double at_most = std::numeric_limits<double>::infinity());

 private:
  // Tiles of each slot, of pending, and the switched views: a permute leads
  // from any arrangement to any other with the same signature.
  using Signature = absl::InlinedVector<int64_t, 8>;
  struct Node {
    BlockPlaces places;
    double bytes = 0;
    double distance = 0;
    int32_t parent = -1;
    bool settled = false;
    // How the parent became this node: by a transfer, or by switching a view.
    Transfer transfer;
    int view = -1;
  };
  struct Front {
    bool backward = false;
    std::vector<Node> nodes;
    std::vector<std::pair<double, int32_t>> heap;
    absl::flat_hash_map<BlockPlaces, int32_t> index;
    absl::flat_hash_map<Signature, int32_t> nearest;  // Settled nodes only.
  };

  // Searches for a path better than the best so far; true if found.
  bool Explore(bool direct);
  void Start(Front& front, const BlockPlaces& places, double bytes);
  void Expand(Front& front, int32_t node);
  // Offers the arrangement that a transfer or a switch makes of the parent's.
  void OfferTransfer(Front& front, int32_t parent, const Transfer& transfer,
                     const BlockLists& lists);
  void OfferSwitch(Front& front, int32_t parent, int view);
  // The node of `places` if this is a shorter path to it that may be useful;
  // otherwise null.
  Node* Reach(Front& front, int32_t parent, const BlockPlaces& places,
              double bytes, double distance);
  // The move between a node and its parent.
  SearchMove MoveTo(const Front& front, const Node& node) const;
  // Settles the nearest open node. False if none can lead to a better path.
  bool Step(Front& front, const Front& other);
  void Settle(Front& front, int32_t node, const Front& other);
  void Join(Front& front, int32_t node, const Front& other);
  double Top(Front& front) const;
  // A lower bound on the remaining cost from an arrangement or, if backward, to
  // it.
  double AtLeast(const Front& front, const BlockPlaces& places,
                 double bytes) const;
  double AtLeastForward(const BlockPlaces& places, double bytes) const;
  double AtLeastBackward(const BlockPlaces& places, double bytes) const;
  Signature SignatureOf(const BlockPlaces& places) const;
  std::vector<SearchMove> Moves() const;

  const Prices prices_;
  const CollectivePrice least_;
  // State of the current run; members to reuse their memory.
  const SearchProblem* problem_ = nullptr;
  Front forward_;
  Front backward_;
  std::vector<Transfer> transfers_;
  double target_bytes_ = 0;
  bool growth_is_wired_ = true;  // A tensor grows by gathers only.
  double shrinkage_ = 1;         // By switches of views, at most.
  bool direct_ = false;
  double best_ = 0;  // Slightly less than the price of the best path so far.
  int32_t best_forward_ = -1;
  int32_t best_backward_ = -1;
  bool best_permutes_ = false;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RESHARD_RESHARD_SEARCH_H_
