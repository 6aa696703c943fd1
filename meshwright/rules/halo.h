// Halo exchange: rows that a shard needs from its neighbours.
//
//   shards [0 1 2] [3 4 5] [6 7 8], low 1, high 1:
//     [. 0 1 2 3] [2 3 4 5 6] [5 6 7 8 .]      with zero for "."
#ifndef MESHWRIGHT_RULES_HALO_H_
#define MESHWRIGHT_RULES_HALO_H_

#include <cstdint>

#include "meshwright/program/local_builder.h"

namespace meshwright {

// `value`, whose dimension is evenly sharded over `axes`, extended by the last
// `low` elements of the previous shard in front and the first `high` of the
// next shard behind; zeros at the ends. One collective-permute per side.
// Requires: low and high are between 0 and the local size.
Instruction* WithHalo(Instruction* value, int64_t dimension,
                      const AxisList& axes, int64_t low, int64_t high,
                      LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_HALO_H_
