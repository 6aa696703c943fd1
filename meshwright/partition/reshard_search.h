// The cheapest sequence of moves between two placements of blocks of axes.
//
// Goes forward from the source and backward from the target, and joins where a
// permute (or nothing) leads from one to the other. One permute is enough: it
// can rename all axes at once, and what moves after it has the names of the
// target.
#ifndef MESHWRIGHT_PARTITION_RESHARD_SEARCH_H_
#define MESHWRIGHT_PARTITION_RESHARD_SEARCH_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "meshwright/partition/prices.h"
#include "meshwright/partition/reshard_moves.h"

namespace meshwright {

struct SearchResult {
  double price = 0;
  std::vector<SearchMove> moves;
};

class ReshardSearch {
 public:
  explicit ReshardSearch(const Prices& prices) : prices_(prices) {}

  // Deterministic. The moves are left out unless asked for.
  SearchResult Run(const SearchProblem& problem, bool with_moves);

 private:
  // Tiles of each slot, of pending, and the switched views: a permute leads
  // from any placement to any other of the same signature.
  using Signature = absl::InlinedVector<int64_t, 8>;
  struct Node {
    BlockPlaces places;
    double bytes = 0;
    double distance = 0;
    int32_t parent = -1;
    bool settled = false;
    SearchMove move;  // From the parent; if backward, to the parent.
  };
  struct Front {
    bool backward = false;
    std::vector<Node> nodes;
    std::vector<std::pair<double, int32_t>> heap;
    absl::flat_hash_map<BlockPlaces, int32_t> index;
    absl::flat_hash_map<Signature, int32_t> nearest;  // Settled ones.
  };

  void Start(Front& front, const BlockPlaces& places, double bytes);
  void Expand(Front& front, int32_t node);
  void Offer(Front& front, int32_t parent, const BlockPlaces& places,
             double bytes, const SearchMove& move);
  // Settles the nearest open node. False if none can lead to a better path.
  bool Step(Front& front, const Front& other);
  void Settle(Front& front, int32_t node, const Front& other);
  void Join(Front& front, int32_t node, const Front& other);
  double Top(Front& front) const;
  double AtLeast(const Front& front, double bytes) const;
  Signature SignatureOf(const BlockPlaces& places) const;
  std::vector<SearchMove> Moves() const;

  const Prices prices_;
  // Of the current run; kept for their memory.
  const SearchProblem* problem_ = nullptr;
  Front forward_;
  Front backward_;
  std::vector<Transfer> transfers_;
  double target_bytes_ = 0;
  bool growth_is_wired_ = true;
  double best_ = 0;
  int32_t best_forward_ = -1;
  int32_t best_backward_ = -1;
  bool best_permutes_ = false;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_RESHARD_SEARCH_H_
