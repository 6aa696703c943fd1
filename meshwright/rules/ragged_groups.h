// Where the groups of a ragged dimension begin and end.
#ifndef MESHWRIGHT_RULES_RAGGED_GROUPS_H_
#define MESHWRIGHT_RULES_RAGGED_GROUPS_H_

#include <cstdint>

#include "meshwright/program/local_builder.h"

namespace meshwright {

struct GroupBounds {
  Instruction* start = nullptr;  // s32, with the dimensions of the group sizes.
  Instruction* end = nullptr;
};

// `sizes` are integers; groups are consecutive along the last dimension.
GroupBounds BoundsOf(Instruction* sizes, LocalBuilder& builder);

// The part of each group within `size` elements from `start` (s32[]), relative
// to `start`.
GroupBounds WithinBlock(const GroupBounds& bounds, Instruction* start,
                        int64_t size, LocalBuilder& builder);

// `count` groups from number `first` (s32[]) on; empty ones past the last.
// Requires: first + count is at most `limit`.
GroupBounds TakeGroups(const GroupBounds& bounds, Instruction* first,
                       int64_t count, int64_t limit, LocalBuilder& builder);

// pred of `dimensions`, true where the index along `ragged` is in the group
// whose number is the index along `group`; dimension `outer[i]` is dimension i
// of the sizes.
Instruction* InGroup(const GroupBounds& bounds,
                     absl::Span<const int64_t> dimensions, int64_t group,
                     absl::Span<const int64_t> outer, int64_t ragged,
                     LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_RAGGED_GROUPS_H_
