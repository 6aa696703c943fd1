// Where the groups of a ragged dimension begin and end.
#ifndef MESHWRIGHT_RULES_RAGGED_GROUPS_H_
#define MESHWRIGHT_RULES_RAGGED_GROUPS_H_

#include <cstdint>

#include "meshwright/program/local_builder.h"

namespace meshwright {

struct GroupBounds {
  Instruction* start = nullptr;  // s32, of the sizes' dimensions.
  Instruction* end = nullptr;
};

// `sizes` are integers; groups follow one another along the last dimension.
GroupBounds BoundsOf(Instruction* sizes, LocalBuilder& builder);

// The part of each group that lies in `size` elements from `start` (s32[]),
// counted from there.
GroupBounds WithinBlock(const GroupBounds& bounds, Instruction* start,
                        int64_t size, LocalBuilder& builder);

// `count` groups from `first` (s32[]); empty ones where there are no more.
// Requires: first + count is at most `limit`.
GroupBounds TakeGroups(const GroupBounds& bounds, Instruction* first,
                       int64_t count, int64_t limit, LocalBuilder& builder);

// pred of `dimensions`, true where the index along `ragged` lies in a group:
// the group's number is index `group`, and dimension `outer[i]` is the sizes'
// dimension i.
Instruction* InGroup(const GroupBounds& bounds,
                     absl::Span<const int64_t> dimensions, int64_t group,
                     absl::Span<const int64_t> outer, int64_t ragged,
                     LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_RAGGED_GROUPS_H_
