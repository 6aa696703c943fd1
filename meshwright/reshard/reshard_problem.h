// Two shardings of a tensor as a search problem: dimensions are factored into
// digits in which both shardings can be expressed, and axes are grouped into
// blocks that move as one.
//
//   f32[768], mesh x=4, from [3:- 256:x] to [768:(x)]
//     3 and 4 share no digit: view {3, 256} with x on the second, or view {768}
//     with x on it. The path leads through "x on neither".
//   f32[64,64], mesh a=2,b=2,c=2, from [(a,b,c), -] to [a, (b,c)]
//     a stays; one block (b,c) goes from digit 0 to digit 1.
#ifndef MESHWRIGHT_RESHARD_RESHARD_PROBLEM_H_
#define MESHWRIGHT_RESHARD_RESHARD_PROBLEM_H_

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "meshwright/mesh/mesh.h"
#include "meshwright/mesh/sharding.h"
#include "meshwright/reshard/reshard_moves.h"

namespace meshwright {

struct ReshardDigit {
  int64_t size = 1;  // Including padding.
  int8_t view = -1;  // As in SearchSlot.
  bool after = false;
  int slot = -1;       // Its slot in the search; -1 if it takes no part.
  int64_t room = 1;    // For blocks.
  AxisList kept;       // Major axes that source and target share.
  AxisList from;       // Further axes in the source.
  AxisList to;         // Further axes in the target.
  DimSharding opaque;  // If not empty, a dimension that does not change.
};

class ReshardProblem {
 public:
  // Requires: equal dimensions, none of them 0, and equal reductions if both
  // are pending.
  ReshardProblem(const Mesh& mesh, int64_t bits_per_element,
                 const Sharding& from, const Sharding& to);

  const SearchProblem& search() const { return search_; }
  // The axes of a block.
  const AxisList& block(int index) const { return blocks_[index]; }
  // The sharding of the digits in an arrangement. Each digit is a dimension of
  // its own here; none is uneven or strided unless it does not change.
  Sharding DigitSharding(const BlockPlaces& places) const;
  // The dimension of DigitSharding that corresponds to slot `slot`.
  int DimensionOf(int slot, const BlockPlaces& places) const;
  // For a dimension with two views: its true size, its first dimension in
  // DigitSharding, and how many it has there.
  int64_t ViewSize(int view) const { return view_sizes_[view]; }
  int ViewDimension(int view, const BlockPlaces& places) const;
  int ViewDigits(int view, const BlockPlaces& places) const;

 private:
  void AddDimension(const DimSharding& from, const DimSharding& to);
  bool AddRefined(const DimSharding& from, const DimSharding& to,
                  const AxisList& kept);
  void AddView(const DimSharding& from, const DimSharding& to,
               const AxisList& kept);
  void FindBlocks();
  void BreakBlocks();
  int64_t RoomOf(const ReshardDigit& digit, int64_t all) const;
  void FindSlots();
  void PlaceBlocks();
  void SortBlocks();
  bool IsActive(const ReshardDigit& digit, const BlockPlaces& places) const;

  const Mesh& mesh_;
  Reduction reduction_ = Reduction::kSum;
  AxisList kept_pending_;
  AxisList from_pending_;
  AxisList to_pending_;
  absl::InlinedVector<ReshardDigit, 6> digits_;
  absl::InlinedVector<int64_t, 2> view_sizes_;
  absl::InlinedVector<AxisList, 6> blocks_;
  SearchProblem search_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_RESHARD_RESHARD_PROBLEM_H_
