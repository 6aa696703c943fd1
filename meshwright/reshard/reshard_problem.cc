#include "meshwright/reshard/reshard_problem.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "meshwright/base/check.h"

namespace meshwright {
namespace {

// Removes the common start of two lists and returns it.
AxisList TakeCommonStart(AxisList& a, AxisList& b) {
  size_t count = 0;
  while (count < a.size() && count < b.size() && a[count] == b[count]) ++count;
  const AxisList common(a.begin(), a.begin() + count);
  a = AxisList(a.begin() + count, a.end());
  b = AxisList(b.begin() + count, b.end());
  return common;
}

AxisList Without(const AxisList& list, const AxisList& other) {
  AxisList result;
  for (const AxisId axis : list) {
    if (!other.Contains(axis)) result.push_back(axis);
  }
  return result;
}

// Digits that end wherever a part of either does; nullopt if some end of one
// lies within a digit of the other.
std::optional<std::vector<int64_t>> CommonDigits(const DimSharding& a,
                                                 const DimSharding& b) {
  std::vector<int64_t> sizes;
  size_t i = 0;
  size_t j = 0;
  int64_t left = 1;   // Of a[i - 1].
  int64_t right = 1;  // Of b[j - 1].
  while (true) {
    while (left == 1 && i < a.size()) left = a[i++].size;
    while (right == 1 && j < b.size()) right = b[j++].size;
    const int64_t size = std::min(left, right);
    if (std::max(left, right) % size != 0) return std::nullopt;
    if (size == 1) break;
    sizes.push_back(size);
    left /= size;
    right /= size;
  }
  if (left != 1 || right != 1) return std::nullopt;
  if (sizes.empty()) sizes.push_back(1);
  return sizes;
}

int64_t PaddedSize(const DimSharding& dim, const Mesh& mesh) {
  return LocalSize(dim, mesh) * mesh.Size(AxesOf(dim));
}

// More blocks than these are not broken further.
constexpr size_t kMaxBroken = 5;

// Where an axis is: the digit and position, or kIdle, or kPending.
using AxisPlaces = std::array<Place, AxisList::kCapacity>;

bool Follows(Place first, Place second) {
  if (IsSlot(first)) return second == first + 1;
  return first == second;
}

}  // namespace

ReshardProblem::ReshardProblem(const Mesh& mesh, int64_t bits_per_element,
                               const Sharding& from, const Sharding& to)
    : mesh_(mesh) {
  reduction_ = from.IsPending() ? from.reduction : to.reduction;
  from_pending_ = Without(from.pending, to.pending);
  to_pending_ = Without(to.pending, from.pending);
  kept_pending_ = Without(from.pending, from_pending_);
  double elements = 1;
  for (size_t i = 0; i < from.dims.size(); ++i) {
    elements *= static_cast<double>(LocalSize(from.dims[i], mesh));
    AddDimension(from.dims[i], to.dims[i]);
  }
  search_.bytes = elements * static_cast<double>(bits_per_element) / 8;
  FindBlocks();
  BreakBlocks();
  FindSlots();
  PlaceBlocks();
}

void ReshardProblem::AddDimension(const DimSharding& from,
                                  const DimSharding& to) {
  const bool even = IsEven(from, mesh_) && IsEven(to, mesh_);
  if (from == to && (!even || IsStrided(from))) {
    digits_.push_back({.size = GlobalSize(from), .opaque = from});
    return;
  }
  if (!IsStrided(from) && !IsStrided(to)) {
    const int64_t size = PaddedSize(from, mesh_);
    if (size != PaddedSize(to, mesh_)) return AddView(from, to, {});
    ReshardDigit digit{.size = size, .from = from[0].axes, .to = to[0].axes};
    digit.kept = TakeCommonStart(digit.from, digit.to);
    digits_.push_back(std::move(digit));
    return;
  }
  if (!even) return AddView(from, to, {});
  DimSharding a = from;
  DimSharding b = to;
  const AxisList kept = TakeCommonStart(a[0].axes, b[0].axes);
  a[0].size /= mesh_.Size(kept);
  b[0].size /= mesh_.Size(kept);
  if (!AddRefined(a, b, kept)) AddView(a, b, kept);
}

bool ReshardProblem::AddRefined(const DimSharding& from, const DimSharding& to,
                                const AxisList& kept) {
  const std::optional<std::vector<int64_t>> sizes = CommonDigits(from, to);
  if (!sizes.has_value()) return false;
  Projection a = Project(from, *sizes, mesh_);
  Projection b = Project(to, *sizes, mesh_);
  if (!a.complete || !b.complete) return false;
  for (size_t i = 0; i < sizes->size(); ++i) {
    ReshardDigit digit{.size = (*sizes)[i], .from = a.axes[i], .to = b.axes[i]};
    AxisList common = TakeCommonStart(digit.from, digit.to);
    if (i == 0) {
      digit.size *= mesh_.Size(kept);
      digit.kept = kept;
    }
    digit.kept.Append(common);
    digits_.push_back(std::move(digit));
  }
  return true;
}

void ReshardProblem::AddView(const DimSharding& from, const DimSharding& to,
                             const AxisList& kept) {
  const int8_t view = static_cast<int8_t>(view_sizes_.size());
  MW_CHECK(view < 32) << "a tensor with too many strided dimensions";
  view_sizes_.push_back(GlobalSize(from));
  double before = 1;
  double after = 1;
  const bool resizes = !IsEven(from, mesh_) || !IsEven(to, mesh_);
  const auto add = [&](const DimSharding& dim, bool is_after) {
    for (size_t i = 0; i < dim.size(); ++i) {
      ReshardDigit digit{.size = dim[i].size, .view = view, .after = is_after};
      if (dim.size() == 1 && resizes) digit.size = PaddedSize(dim, mesh_);
      (is_after ? after : before) *= static_cast<double>(digit.size);
      if (i == 0) {
        digit.size *= mesh_.Size(kept);
        digit.kept = kept;
      }
      (is_after ? digit.to : digit.from) = dim[i].axes;
      digits_.push_back(std::move(digit));
    }
  };
  add(from, false);
  add(to, true);
  search_.views.push_back({.resizes = resizes, .growth = after / before});
}

void ReshardProblem::FindBlocks() {
  AxisPlaces start;
  AxisPlaces end;
  start.fill(kIdle);
  end.fill(kIdle);
  AxisList axes;  // In an order in which those of a block are neighbours.
  uint32_t seen = 0;
  const auto see = [&](const AxisList& list, AxisPlaces& places, int digit) {
    int position = 0;
    for (const AxisId axis : list) {
      places[axis] = digit < 0 ? kPending : InSlot(digit, position++);
      if ((seen >> axis & 1) == 0) axes.push_back(axis);
      seen |= uint32_t{1} << axis;
    }
  };
  for (size_t i = 0; i < digits_.size(); ++i) {
    see(digits_[i].from, start, static_cast<int>(i));
  }
  for (size_t i = 0; i < digits_.size(); ++i) {
    see(digits_[i].to, end, static_cast<int>(i));
  }
  see(from_pending_, start, -1);
  see(to_pending_, end, -1);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (i > 0 && Follows(start[axes[i - 1]], start[axes[i]]) &&
        Follows(end[axes[i - 1]], end[axes[i]])) {
      blocks_.back().push_back(axes[i]);
    } else {
      blocks_.push_back({axes[i]});
    }
  }
}

// Two sizes are alike if the same blocks fit: for a few blocks, the least one.
int64_t ReshardProblem::RoomOf(const ReshardDigit& digit, int64_t all) const {
  const int64_t size = std::gcd(digit.size / mesh_.Size(digit.kept), all);
  if (blocks_.size() > 6 || size == all) return size;
  int64_t room = 1;
  for (uint32_t chosen = 1; chosen < uint32_t{1} << blocks_.size(); ++chosen) {
    int64_t product = 1;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if ((chosen >> i & 1) != 0) product *= search_.blocks[i];
    }
    if (size % product == 0) room = std::lcm(room, product);
  }
  return room;
}

void ReshardProblem::FindSlots() {
  int64_t all = 1;
  for (const AxisList& block : blocks_) {
    search_.blocks.push_back(mesh_.Size(block));
    search_.axes.push_back(block.Bits());
    all *= search_.blocks.back();
  }
  // With two views, axes may have to leave a dimension and come back: one
  // digit more to rest in.
  int spare = -1;
  int64_t spare_room = 1;
  for (size_t i = 0; i < digits_.size(); ++i) {
    const ReshardDigit& digit = digits_[i];
    if (!digit.opaque.empty() || digit.view >= 0 || !digit.from.empty() ||
        !digit.to.empty()) {
      continue;
    }
    const int64_t room = std::gcd(digit.size / mesh_.Size(digit.kept), all);
    if (room > spare_room) {
      spare = static_cast<int>(i);
      spare_room = room;
    }
  }
  absl::InlinedVector<ReshardDigit*, 6> taking_part;
  for (size_t i = 0; i < digits_.size(); ++i) {
    ReshardDigit& digit = digits_[i];
    digit.room = RoomOf(digit, all);
    const bool moves = !digit.from.empty() || !digit.to.empty();
    const bool rests = static_cast<int>(i) == spare &&
                       (!view_sizes_.empty() || blocks_.size() > 1);
    if (moves || digit.view >= 0 || rests) taking_part.push_back(&digit);
  }
  // In an order of their own, so that the order of dimensions makes no
  // difference to the search.
  const auto key = [&](const ReshardDigit& digit) {
    return std::make_tuple(digit.view, digit.after, mesh_.Size(digit.from),
                           mesh_.Size(digit.to), digit.room);
  };
  std::stable_sort(taking_part.begin(), taking_part.end(),
                   [&](const ReshardDigit* a, const ReshardDigit* b) {
                     return key(*a) < key(*b);
                   });
  for (ReshardDigit* digit : taking_part) {
    digit->slot = static_cast<int>(search_.slots.size());
    search_.slots.push_back(
        {.size = digit->room, .view = digit->view, .after = digit->after});
  }
  MW_CHECK(search_.slots.size() < SlotOf(kIdle));
}

// A permute can exchange axes of equal size only. Where a larger block shares a
// digit with a smaller one, breaks off what is as large as that.
void ReshardProblem::BreakBlocks() {
  const auto digits_of = [&](const AxisList& block) {
    uint64_t digits = 0;
    for (size_t i = 0; i < digits_.size(); ++i) {
      if (digits_[i].from.Contains(block[0]) ||
          digits_[i].to.Contains(block[0])) {
        digits |= uint64_t{1} << (i % 64);
      }
    }
    return digits;
  };
  absl::InlinedVector<AxisList, 6> broken;
  for (const AxisList& block : blocks_) {
    uint32_t cuts = 0;  // Bit i: before axis i.
    for (const AxisList& other : blocks_) {
      const int64_t wanted = mesh_.Size(other);
      const int64_t whole = mesh_.Size(block);
      if (wanted >= whole || (digits_of(block) & digits_of(other)) == 0) {
        continue;
      }
      int64_t size = 1;
      for (size_t i = 0; i < block.size(); ++i) {
        if (size == wanted || whole / size == wanted) cuts |= uint32_t{1} << i;
        size *= mesh_.Size(block[i]);
      }
    }
    for (size_t i = 0; i < block.size(); ++i) {
      if (i == 0 || (cuts >> i & 1) != 0) broken.emplace_back();
      broken.back().push_back(block[i]);
    }
  }
  if (broken.size() <= kMaxBroken) blocks_ = std::move(broken);
}

void ReshardProblem::PlaceBlocks() {
  search_.from.of = search_.to.of = {};
  search_.to.switched =
      static_cast<uint32_t>((uint64_t{1} << view_sizes_.size()) - 1);
  // Blocks of a list, in order, so that positions count blocks.
  const auto place = [&](const AxisList& list, int slot, BlockPlaces& places) {
    int position = 0;
    for (const AxisId axis : list) {
      for (size_t i = 0; i < blocks_.size(); ++i) {
        if (blocks_[i][0] != axis) continue;
        places.of[i] = slot < 0 ? kPending : InSlot(slot, position++);
      }
    }
  };
  for (size_t i = 0; i < blocks_.size(); ++i) {
    search_.from.of[i] = search_.to.of[i] = kIdle;
  }
  for (const ReshardDigit& digit : digits_) {
    if (digit.slot < 0) continue;
    place(digit.from, digit.slot, search_.from);
    place(digit.to, digit.slot, search_.to);
  }
  place(from_pending_, -1, search_.from);
  place(to_pending_, -1, search_.to);
  SortBlocks();
}

void ReshardProblem::SortBlocks() {
  absl::InlinedVector<size_t, 8> order(blocks_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto key = [&](size_t block) {
    return std::make_tuple(search_.from.of[block], search_.to.of[block]);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return key(a) < key(b); });
  const auto blocks = blocks_;
  const SearchProblem old = search_;
  for (size_t i = 0; i < order.size(); ++i) {
    blocks_[i] = blocks[order[i]];
    search_.blocks[i] = old.blocks[order[i]];
    search_.axes[i] = old.axes[order[i]];
    search_.from.of[i] = old.from.of[order[i]];
    search_.to.of[i] = old.to.of[order[i]];
  }
}

bool ReshardProblem::IsActive(const ReshardDigit& digit,
                              const BlockPlaces& places) const {
  return digit.view < 0 ||
         ((places.switched >> digit.view & 1) != 0) == digit.after;
}

Sharding ReshardProblem::DigitSharding(const BlockPlaces& places) const {
  const BlockLists lists(search_, places);
  Sharding result;
  for (const ReshardDigit& digit : digits_) {
    if (!IsActive(digit, places)) continue;
    if (!digit.opaque.empty()) {
      result.dims.push_back(digit.opaque);
      continue;
    }
    Part part{digit.size, digit.kept};
    if (digit.slot >= 0) {
      for (const int8_t block : lists.slots[digit.slot]) {
        part.axes.Append(blocks_[block]);
      }
    }
    result.dims.push_back({part});
  }
  result.pending = kept_pending_;
  for (const int8_t block : lists.pending) {
    result.pending.Append(blocks_[block]);
  }
  std::sort(result.pending.begin(), result.pending.end());
  if (result.IsPending()) result.reduction = reduction_;
  return result;
}

int ReshardProblem::DimensionOf(int slot, const BlockPlaces& places) const {
  int dimension = 0;
  for (const ReshardDigit& digit : digits_) {
    if (digit.slot == slot) return dimension;
    if (IsActive(digit, places)) ++dimension;
  }
  MW_CHECK(false) << "no digit is slot " << slot;
}

int ReshardProblem::ViewDimension(int view, const BlockPlaces& places) const {
  int dimension = 0;
  for (const ReshardDigit& digit : digits_) {
    if (digit.view == view) return dimension;
    if (IsActive(digit, places)) ++dimension;
  }
  MW_CHECK(false) << "no digit is of view " << view;
}

int ReshardProblem::ViewDigits(int view, const BlockPlaces& places) const {
  int count = 0;
  for (const ReshardDigit& digit : digits_) {
    if (digit.view == view && IsActive(digit, places)) ++count;
  }
  return count;
}

}  // namespace meshwright
