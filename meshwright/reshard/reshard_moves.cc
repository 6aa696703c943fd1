#include "meshwright/reshard/reshard_moves.h"

#include <algorithm>
#include <bit>

namespace meshwright {
namespace {

// Of more blocks, a key does not list all sets.
constexpr size_t kFewBlocks = 4;

int64_t SizeOf(const SearchProblem& problem, const BlockList& list) {
  int64_t size = 1;
  for (const int8_t block : list) size *= problem.blocks[block];
  return size;
}

bool IsActive(const SearchSlot& slot, uint32_t switched) {
  return slot.view < 0 || ((switched >> slot.view & 1) != 0) == slot.after;
}

// Collects transfers out of one arrangement.
class Collector {
 public:
  Collector(const SearchProblem& problem, const BlockLists& lists,
            uint32_t switched, bool backward, bool direct,
            std::vector<Transfer>* transfers)
      : problem_(problem),
        lists_(lists),
        backward_(backward),
        direct_(direct),
        goal_(backward ? problem.from : problem.to),
        transfers_(transfers) {
    for (size_t i = 0; i < problem.blocks.size(); ++i) {
      if (problem.from.of[i] == kPending) pending_limit_ *= problem.blocks[i];
    }
    for (size_t i = 0; i < problem.slots.size(); ++i) {
      const SearchSlot& slot = problem.slots[i];
      rooms_.push_back(IsActive(slot, switched)
                           ? slot.size / SizeOf(problem, lists.slots[i])
                           : 1);
    }
  }

  void Collect() {
    const int slots = static_cast<int>(lists_.slots.size());
    for (int slot = 0; slot < slots; ++slot) {
      const BlockList& all = lists_.slots[slot];
      for (int8_t first = 0; first < all.size; ++first) {
        BlockList suffix;
        for (int8_t i = first; i < all.size; ++i) suffix.Add(all.ids[i]);
        AddAllFrom(InSlot(slot, 0), suffix);
      }
    }
    AddSubsets(kIdle, lists_.idle);
    AddSubsets(kPending, lists_.pending);
  }

 private:
  // All subsets of a few, of many each one and all.
  void AddSubsets(Place from, const BlockList& all) {
    if (all.size > 4) {
      for (const int8_t block : all) {
        BlockList one;
        one.Add(block);
        AddAllFrom(from, one);
      }
      AddAllFrom(from, all);
      return;
    }
    for (uint32_t bits = 1; bits < uint32_t{1} << all.size; ++bits) {
      BlockList some;
      for (int8_t i = 0; i < all.size; ++i) {
        if ((bits >> i & 1) != 0) some.Add(all.ids[i]);
      }
      AddAllFrom(from, some);
    }
  }

  void AddAllFrom(Place from, const BlockList& taken) {
    const int64_t size = SizeOf(problem_, taken);
    for (size_t slot = 0; slot < rooms_.size(); ++slot) {
      const Place to = InSlot(static_cast<int>(slot), 0);
      if (to == from || rooms_[slot] % size != 0) continue;
      if (direct_ && !EndIn(static_cast<int>(slot), taken)) continue;
      Add({from, to, taken, taken, size});
      const BlockList ordered = InGoalOrder(static_cast<int>(slot), taken);
      if (ordered.ids != taken.ids) Add({from, to, taken, ordered, size});
    }
    if (from != kIdle) Add({from, kIdle, taken, taken, size});
    if (from != kPending) Add({from, kPending, taken, taken, size});
  }

  void Add(const Transfer& transfer) {
    if (IsUseful(transfer)) transfers_->push_back(transfer);
  }

  bool IsUseful(const Transfer& transfer) const {
    const Place from = backward_ ? transfer.to : transfer.from;
    const Place to = backward_ ? transfer.from : transfer.to;
    // Several slices in a row cost no more than one.
    if (KindOf(from, to) == MoveKind::kSlice) return transfer.taken.size == 1;
    if (to == kPending) return AllPendingAtEnd(transfer.taken);
    if (from == kPending) {
      if (!backward_) return true;
      return pending_limit_ %
                 (SizeOf(problem_, lists_.pending) * transfer.size) ==
             0;
    }
    return true;
  }

  bool AllPendingAtEnd(const BlockList& list) const {
    return std::all_of(list.begin(), list.end(), [&](int8_t block) {
      return problem_.to.of[block] == kPending;
    });
  }

  bool EndIn(int slot, const BlockList& list) const {
    return std::all_of(list.begin(), list.end(), [&](int8_t block) {
      return SlotOf(goal_.of[block]) == slot;
    });
  }

  // Those that lie in `slot` at the goal first, in that order.
  BlockList InGoalOrder(int slot, const BlockList& list) const {
    BlockList result = list;
    if (list.size < 2) return result;
    const auto key = [&](int8_t block) {
      const Place place = goal_.of[block];
      return SlotOf(place) == slot ? place : kIdle;
    };
    std::stable_sort(result.ids.begin(), result.ids.begin() + result.size,
                     [&](int8_t x, int8_t y) { return key(x) < key(y); });
    return result;
  }

  const SearchProblem& problem_;
  const BlockLists& lists_;
  const bool backward_;
  const bool direct_;
  const BlockPlaces& goal_;
  std::vector<Transfer>* transfers_;
  int64_t pending_limit_ = 1;
  absl::InlinedVector<int64_t, 8> rooms_;  // By slot.
};

}  // namespace

void SearchProblem::AppendKey(const Prices& prices,
                              absl::InlinedVector<int64_t, 48>* key) const {
  key->push_back(static_cast<int64_t>(blocks.size() << 16 | slots.size() << 8 |
                                      views.size()));
  for (size_t i = 0; i < blocks.size(); ++i) {
    key->push_back(blocks[i] << 32 | int64_t{from.of[i]} << 16 |
                   int64_t{to.of[i]});
  }
  for (const SearchSlot& slot : slots) {
    key->push_back(slot.size << 9 | (slot.view + 1) << 1 |
                   static_cast<int>(slot.after));
  }
  for (const SearchView& view : views) {
    key->push_back(std::bit_cast<int64_t>(view.growth) ^
                   static_cast<int64_t>(view.resizes));
  }
  if (prices.by_axes.empty()) return;
  if (blocks.size() > kFewBlocks) {
    key->insert(key->end(), axes.begin(), axes.end());
    return;
  }
  for (uint32_t chosen = 1; chosen < uint32_t{1} << blocks.size(); ++chosen) {
    uint32_t of_chosen = 0;
    for (size_t i = 0; i < blocks.size(); ++i) {
      if ((chosen >> i & 1) != 0) of_chosen |= axes[i];
    }
    key->push_back(prices.alike_axes[of_chosen]);
  }
}

BlockLists::BlockLists(const SearchProblem& problem,
                       const BlockPlaces& places) {
  slots.resize(problem.slots.size());
  for (size_t i = 0; i < problem.blocks.size(); ++i) {
    const Place place = places.of[i];
    if (IsSlot(place)) {
      BlockList& list = slots[SlotOf(place)];
      list.ids[PositionOf(place)] = static_cast<int8_t>(i);
      ++list.size;
    } else {
      (place == kIdle ? idle : pending).Add(static_cast<int>(i));
    }
  }
}

void AppendTransfers(const SearchProblem& problem, const BlockLists& lists,
                     uint32_t switched, bool backward, bool direct,
                     std::vector<Transfer>* transfers) {
  Collector(problem, lists, switched, backward, direct, transfers).Collect();
}

BlockPlaces Apply(const Transfer& transfer, const BlockLists& lists,
                  const BlockPlaces& places) {
  BlockPlaces result = places;
  int position =
      IsSlot(transfer.to) ? lists.slots[SlotOf(transfer.to)].size : 0;
  for (const int8_t block : transfer.put) {
    result.of[block] = IsSlot(transfer.to)
                           ? InSlot(SlotOf(transfer.to), position++)
                           : transfer.to;
  }
  return result;
}

uint32_t AxesOf(const SearchProblem& problem, const BlockList& blocks) {
  uint32_t axes = 0;
  for (const int8_t block : blocks) axes |= problem.axes[block];
  return axes;
}

uint32_t AllAxes(const SearchProblem& problem) {
  uint32_t axes = 0;
  for (const uint32_t block : problem.axes) axes |= block;
  return axes;
}

double BytesAfter(const Transfer& transfer, double bytes) {
  const double size = static_cast<double>(transfer.size);
  if (IsSlot(transfer.from)) bytes *= size;
  if (IsSlot(transfer.to)) bytes /= size;
  return bytes;
}

MoveKind KindOf(Place from, Place to) {
  if (to == kPending) return MoveKind::kMakePending;
  if (IsSlot(from)) {
    return IsSlot(to) ? MoveKind::kAllToAll : MoveKind::kAllGather;
  }
  if (from == kIdle) return MoveKind::kSlice;
  return IsSlot(to) ? MoveKind::kReduceScatter : MoveKind::kAllReduce;
}

SearchMove MoveOf(const SearchProblem& problem, const Prices& prices,
                  Place from, Place to, const BlockList& blocks,
                  double before) {
  SearchMove move;
  move.kind = KindOf(from, to);
  move.blocks = blocks;
  if (IsSlot(from)) move.from = SlotOf(from);
  if (IsSlot(to)) move.to = SlotOf(to);
  const int64_t size = SizeOf(problem, blocks);
  const double after = BytesAfter({from, to, blocks, blocks, size}, before);
  move.wire_bytes = WireBytes(move.kind, size, before);
  const uint32_t axes = AxesOf(problem, blocks);
  move.price = MovePrice(prices, move.kind, axes, size, before, after);
  if (IsCollective(move.kind)) {
    move.latency = prices.Of(move.kind, axes).latency;
  }
  return move;
}

SearchMove SwitchOf(const SearchProblem& problem, const Prices& prices,
                    int view, double before) {
  const SearchView& v = problem.views[view];
  SearchMove move;
  move.kind = v.resizes ? MoveKind::kResize : MoveKind::kRegroup;
  move.from = view;
  move.price = MovePrice(prices, move.kind, 0, 1, before, before * v.growth);
  return move;
}

bool CanSwitch(const SearchProblem& problem, const BlockLists& lists,
               uint32_t switched, int view, bool backward) {
  if (((switched >> view & 1) != 0) != backward) return false;
  for (size_t i = 0; i < problem.slots.size(); ++i) {
    if (problem.slots[i].view == view && lists.slots[i].size > 0) return false;
  }
  return true;
}

std::vector<SearchMove> PlainMoves(const SearchProblem& problem,
                                   const Prices& prices) {
  std::vector<SearchMove> moves;
  BlockPlaces places = problem.from;
  double bytes = problem.bytes;
  const auto transfer = [&](Place from, Place to, const BlockList& blocks) {
    if (blocks.size == 0) return;
    moves.push_back(MoveOf(problem, prices, from, to, blocks, bytes));
    const Transfer t{from, to, blocks, blocks, SizeOf(problem, blocks)};
    places = Apply(t, BlockLists(problem, places), places);
    bytes = BytesAfter(t, bytes);
    moves.back().after = places;
  };
  const BlockLists start(problem, problem.from);
  const BlockLists end(problem, problem.to);
  transfer(kPending, kIdle, start.pending);
  for (size_t i = 0; i < problem.slots.size(); ++i) {
    transfer(InSlot(static_cast<int>(i), 0), kIdle, start.slots[i]);
  }
  for (size_t i = 0; i < problem.views.size(); ++i) {
    moves.push_back(SwitchOf(problem, prices, static_cast<int>(i), bytes));
    bytes *= problem.views[i].growth;
    places.switched |= uint32_t{1} << i;
    moves.back().after = places;
  }
  for (size_t i = 0; i < problem.slots.size(); ++i) {
    for (const int8_t block : end.slots[i]) {
      BlockList one;
      one.Add(block);
      transfer(kIdle, InSlot(static_cast<int>(i), 0), one);
    }
  }
  transfer(kIdle, kPending, end.pending);
  return moves;
}

}  // namespace meshwright
