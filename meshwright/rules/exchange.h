// Moves elements of one dimension between devices: halos, reversals, slices,
// pads and joins of split dimensions.
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
  // Devices that differ only along these together hold every element.
  AxisList axes;
  ElementLists held = {};
  ElementLists needed = {};
};

// `value` with `held` along its dimension becomes one with `needed`, by the
// fewest bytes over the wire. `fill` (a scalar) may be null if none is needed.
Instruction* Exchange(const Movement& movement, Instruction* value,
                      Instruction* fill, LocalBuilder& builder);

// What each device has of a dimension.
ElementLists ElementsOf(const DimSharding& dim, const Mesh& mesh);

// The p-th device along the axes of `dim` needs `size` elements from
// `first + p * step` on; those beyond the ends are the fill value.
Movement Stretches(const DimSharding& dim, int64_t dimension, int64_t first,
                   int64_t step, int64_t size, const Mesh& mesh);

// Changes needs that other devices would have to meet to the fill value.
void KeepOwn(Movement& movement);

// How values that are zero but on one device are joined; nullopt for types
// that collectives do not take.
std::optional<Reduction> JoiningReduction(ElementType type);

// Factors for a dimension whose elements move when it is split: one of `size`,
// tied to `first` unless that is negative.
int32_t AddShifted(int64_t size, int32_t first, Rule& rule);

// Whether dimension `dimension` of operand 0 or result 0 is split.
bool IsSplitDimension(const LocalOp& op, int64_t dimension);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_EXCHANGE_H_
