// The collectives of cross_round.h, kind by kind.
#ifndef MESHWRIGHT_CROSSING_CROSS_STEPS_H_
#define MESHWRIGHT_CROSSING_CROSS_STEPS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "meshwright/crossing/block_view.h"
#include "meshwright/crossing/cross_places.h"
#include "meshwright/crossing/cross_round.h"
#include "meshwright/crossing/metered_group.h"

namespace meshwright {

struct CrossSteps {
  const CrossRound& round;
  const CrossPlaces& places = *round.places;
  MeteredGroup* group = nullptr;  // None if all members are here.

  // Reductions: here first, then between processes.
  absl::Status AllReduce() const;
  absl::Status ReduceScatter() const;
  // What only moves.
  absl::Status AllGather() const;
  absl::Status AllToAll() const;
  absl::Status Permute() const;
  absl::Status Broadcast() const;

  size_t size() const { return round.group->members.size(); }
  // Null if it is elsewhere.
  const CrossMember* Find(size_t position) const;
  // The others' results become those of the first member here.
  void CopyFirstResults() const;
};

// All of an array.
BlockView Whole(std::byte* data, const CrossArrays::Array& array);
// Block `index` of `count` along `dimension`.
BlockView Cut(std::byte* data, const CrossArrays::Array& array,
              int64_t dimension, size_t index, size_t count);

}  // namespace meshwright

#endif  // MESHWRIGHT_CROSSING_CROSS_STEPS_H_
