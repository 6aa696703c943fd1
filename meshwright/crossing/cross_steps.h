// The collectives of cross_round.h, by kind.
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
  MeteredGroup* group = nullptr;  // Null if all members are in this process.

  // Reductions: first locally, then between processes.
  absl::Status AllReduce() const;
  absl::Status ReduceScatter() const;
  // Pure data movement.
  absl::Status AllGather() const;
  absl::Status AllToAll() const;
  absl::Status Permute() const;
  absl::Status Broadcast() const;

  size_t size() const { return round.group->members.size(); }
  // Null if it is in another process.
  const CrossMember* Find(size_t position) const;
  // Copies the results of the first local member to the others.
  void CopyFirstResults() const;
};

// The whole array.
BlockView Whole(std::byte* data, const CrossArrays::Array& array);
// Block `index` of `count` along `dimension`.
BlockView Cut(std::byte* data, const CrossArrays::Array& array,
              int64_t dimension, size_t index, size_t count);

}  // namespace meshwright

#endif  // MESHWRIGHT_CROSSING_CROSS_STEPS_H_
