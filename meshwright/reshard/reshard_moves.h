// Arrangements of blocks of axes, and the moves between them: the state space
// of the search for reshard paths.
//
// A block is a run of mesh axes that moves as one. It is either in a slot (it
// splits a digit of a dimension), or pending (the value is a partial sum over
// it), or idle (the value is replicated over it). A slot is a list of blocks,
// major first; only its minor end changes. So a move takes blocks from one
// place and puts them to another:
//
//   slot -> slot  all-to-all      pending -> slot  reduce-scatter
//   slot -> idle  all-gather      pending -> idle  all-reduce
//   idle -> slot  slice           slot or idle -> pending  make pending
//
// In addition, a permute exchanges blocks arbitrarily as long as every slot
// keeps its number of tiles, and a view (below) may be switched.
#ifndef MESHWRIGHT_RESHARD_RESHARD_MOVES_H_
#define MESHWRIGHT_RESHARD_RESHARD_MOVES_H_

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "meshwright/reshard/prices.h"

namespace meshwright {

// The maximum number of sub-axes of a mesh.
constexpr int kMaxBlocks = 20;

// The place of a block: kIdle, kPending, or a slot and the position in it.
using Place = uint16_t;
constexpr Place kIdle = 0xFE00;
constexpr Place kPending = 0xFF00;
constexpr Place InSlot(int slot, int position) {
  return static_cast<Place>(slot << 8 | position);
}
constexpr int SlotOf(Place place) { return place >> 8; }
constexpr int PositionOf(Place place) { return place & 0xFF; }
constexpr bool IsSlot(Place place) { return place < kIdle; }

struct BlockPlaces {
  std::array<Place, kMaxBlocks> of = {};  // By block; 0 beyond the last.
  uint32_t switched = 0;  // Bits of the views that were switched.

  bool operator==(const BlockPlaces&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const BlockPlaces& places) {
    h = H::combine_contiguous(std::move(h), places.of.data(), kMaxBlocks);
    return H::combine(std::move(h), places.switched);
  }
};

struct SearchSlot {
  // The product of the sizes of the blocks in it divides this.
  int64_t size = 1;
  // The view that the slot belongs to, for a dimension that has other digits
  // before a switch of the view (`after` is false) than after it; -1 if its
  // digits never change.
  int8_t view = -1;
  bool after = false;
};

// A dimension whose slots must all be empty before its digits can be switched
// to other ones.
struct SearchView {
  bool resizes = false;  // The switch changes the padding.
  double growth = 1;     // Factor by which the bytes per device grow.
};

struct SearchProblem {
  absl::InlinedVector<int64_t, 8> blocks;  // Sizes.
  absl::InlinedVector<uint32_t, 8> axes;   // By block, as bits.
  absl::InlinedVector<SearchSlot, 8> slots;
  absl::InlinedVector<SearchView, 2> views;
  BlockPlaces from;
  BlockPlaces to;
  double bytes = 0;  // Per device at the source.

  // Equal for problems that differ in `bytes` only, and in axes between which
  // the prices make no difference.
  void AppendKey(const Prices& prices,
                 absl::InlinedVector<int64_t, 48>* key) const;
};

struct BlockList {
  std::array<int8_t, kMaxBlocks> ids = {};
  int8_t size = 0;

  void Add(int block) { ids[size++] = static_cast<int8_t>(block); }
  const int8_t* begin() const { return ids.data(); }
  const int8_t* end() const { return ids.data() + size; }
};

struct SearchMove {
  MoveKind kind = MoveKind::kSlice;
  // The moving blocks, in order of arrival; empty for a permute.
  BlockList blocks;
  int from = -1;  // A slot, or the view of a resize (regroup).
  int to = -1;
  BlockPlaces after;
  double wire_bytes = 0;
  double latency = 0;  // The part of the price that does not depend on size.
  double price = 0;
};

// BlockPlaces, listed by place.
struct BlockLists {
  BlockLists(const SearchProblem& problem, const BlockPlaces& places);

  absl::InlinedVector<BlockList, 8> slots;
  BlockList idle;
  BlockList pending;
};

// Takes blocks from one place and puts them to another.
struct Transfer {
  Place from = kIdle;  // Positions are 0.
  Place to = kIdle;
  BlockList taken;   // In their order in `from`.
  BlockList put;     // In their order in `to`.
  int64_t size = 1;  // Product of the block sizes.
};

// Appends the transfers from an arrangement that may be useful on the way from
// problem.from to problem.to; if `backward`, those that undo a useful move. If
// `direct`, only those that put blocks into their final slot, or into none.
void AppendTransfers(const SearchProblem& problem, const BlockLists& lists,
                     uint32_t switched, bool backward, bool direct,
                     std::vector<Transfer>* transfers);

BlockPlaces Apply(const Transfer& transfer, const BlockLists& lists,
                  const BlockPlaces& places);
// As bits: the axes of some blocks, and of all.
uint32_t AxesOf(const SearchProblem& problem, const BlockList& blocks);
uint32_t AllAxes(const SearchProblem& problem);
// Bytes per device afterwards.
double BytesAfter(const Transfer& transfer, double bytes);
MoveKind KindOf(Place from, Place to);
// The move and its price for `before` bytes per device. Does not set `after`.
SearchMove MoveOf(const SearchProblem& problem, const Prices& prices,
                  Place from, Place to, const BlockList& blocks, double before);
SearchMove SwitchOf(const SearchProblem& problem, const Prices& prices,
                    int view, double before);
// Whether the view is not switched yet (is switched, if `backward`) and empty.
bool CanSwitch(const SearchProblem& problem, const BlockLists& lists,
               uint32_t switched, int view, bool backward);

// The plain path, which always exists: reduce what is pending, gather
// everything, slice.
std::vector<SearchMove> PlainMoves(const SearchProblem& problem,
                                   const Prices& prices);

}  // namespace meshwright

#endif  // MESHWRIGHT_RESHARD_RESHARD_MOVES_H_
