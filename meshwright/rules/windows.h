// Sharding of dimensions that windows slide along (convolution, pooling).
//
//   base 9 rows, window 3, stride 2, no padding: 4 places; on two devices
//     base    [0 1 2 3 4] [5 6 7 8 .]     sharded unevenly
//     places  [0 1] [2 3]                 sharded evenly
//     read    [0 1 2 3 4] [4 5 6 7 8]     so device 0 sends row 4 to device 1
//
// The shards of the base and of the windows' places need not match: what a
// device's windows read is a range of the base, which it fetches.
#ifndef MESHWRIGHT_RULES_WINDOWS_H_
#define MESHWRIGHT_RULES_WINDOWS_H_

#include <cstdint>

#include "meshwright/hlo/dimension_numbers.h"
#include "meshwright/rules/lowering.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

// The number of base elements from the first to the last that a window covers.
int64_t Extent(const WindowDimension& window);

// The floor of a / b. Requires: b > 0.
int64_t FloorDivide(int64_t a, int64_t b);

// Two factors split over the same axes, unevenly if necessary: that of
// `item_size` windows (or window elements) and that of the base that they read.
struct ItemFactors {
  int32_t item = 0;
  int32_t base = 0;
};
ItemFactors AddItems(int64_t item_size, int64_t base_size, Rule& rule);

// Adds factors for a dimension of the base and for the places of its windows:
// one for both if they correspond one to one or, for kKept places, if the base
// is the places times the stride; otherwise two. `kind` is that of the places;
// `separate` requests two factors wherever the sizes differ.
void AddWindowed(const WindowDimension& window, int64_t base_size,
                 int64_t places, FactorKind kind, bool separate, Rule& rule,
                 DimFactors& base, DimFactors& place);

// Whether shards of the base contain whole strides of shards of the places.
bool IsAligned(const WindowDimension& window, int64_t base_size,
               int64_t places);

// Item i (the place of a window, or an element of it) reads `extent` positions
// starting at i * step - padding_low, of the base dilated by base_dilation.
struct Reach {
  int64_t step = 1;
  int64_t extent = 1;
  int64_t padding_low = 0;
  int64_t base_dilation = 1;
};

// The sharding of a base and of the items that read it. Both are divided into
// equal parts along the same axes, the last ones partly padding.
struct WindowSplit {
  int64_t dimension = 0;  // Of the base.
  AxisList axes;
  DimSharding base;
  int64_t items = 0;
};
// For `dimension` of operand 0, with the items of factor `item`.
WindowSplit SplitOf(const LocalOp& op, int64_t dimension, int32_t item,
                    const Mesh& mesh);

struct Fetched {
  Instruction* value = nullptr;
  // Replace the window's own attributes; local items count from 0.
  int64_t padding_low = 0;
  int64_t padding_high = 0;
  int64_t base_dilation = 1;
};

// Makes of `value`, a base sharded as in `split`, what the items of each device
// read: `fill` outside of it and in dilation gaps. What only padding items read
// is `fill` too if `clean`, otherwise arbitrary.
Fetched FetchReach(const WindowSplit& split, const Reach& reach, bool clean,
                   Instruction* value, Instruction* fill,
                   LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_WINDOWS_H_
