// Moves elements of one dimension between devices: halos, and reversals,
// slices, pads and concatenations of sharded dimensions.
//
//   // Each device gets the row before its first one; the first gets zeros.
//   Movement movement = {.dimension = 0, .axes = axes};
//   for (int64_t device : devices) {
//     movement.held.push_back({4 * p, ..., 4 * p + 3});
//     movement.needed.push_back({4 * p - 1 or kFilled, 4 * p, ..., 4 * p + 3});
//   }
//   Exchange(movement, value, zero, builder);  // One permute of one row.
#ifndef MESHWRIGHT_RULES_EXCHANGE_H_
#define MESHWRIGHT_RULES_EXCHANGE_H_

#include <cstdint>
#include <optional>

#include "meshwright/mesh/sharding.h"
#include "meshwright/rules/exchange_plan.h"
#include "meshwright/rules/lowering.h"

namespace meshwright {

struct Movement {
  int64_t dimension = 0;
  // The device groups: devices that differ only along these axes together hold
  // every element.
  AxisList axes;
  ElementLists held = {};
  ElementLists needed = {};
};

// Redistributes `value`, which holds the elements `held` along the dimension,
// so that it has `needed`, with the fewest bytes sent. `fill` (a scalar) may be
// null if no fill value is needed.
Instruction* Exchange(const Movement& movement, Instruction* value,
                      Instruction* fill, LocalBuilder& builder);

// The elements of a dimension that each device holds.
ElementLists ElementsOf(const DimSharding& dim, const Mesh& mesh);

// Device p along the axes of `dim` needs `size` elements starting at `first + p
// * step`; those outside of the dimension are the fill value.
Movement Stretches(const DimSharding& dim, int64_t dimension, int64_t first,
                   int64_t step, int64_t size, const Mesh& mesh);

// Replaces needs that other devices would have to serve by the fill value.
void KeepOwn(Movement& movement);

// The reduction that combines values which are zero on all but one device;
// nullopt for types that collectives do not support.
std::optional<Reduction> JoiningReduction(ElementType type);

// Adds a factor of `size` for a dimension whose elements move when it is
// sharded, tied to `first` unless that is negative.
int32_t AddShifted(int64_t size, int32_t first, Rule& rule);

// Whether dimension `dimension` of operand 0 or result 0 is split.
bool IsSplitDimension(const LocalOp& op, int64_t dimension);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_EXCHANGE_H_
