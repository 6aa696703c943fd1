// Splitting a dimension that windows slide along.
//
//   base 9 rows, window 3, stride 2, no padding: 4 places; on two devices
//     base    [0 1 2 3 4] [5 6 7 8 .]     each its part, unevenly
//     places  [0 1] [2 3]                 each its part
//     read    [0 1 2 3 4] [4 5 6 7 8]     so device 0 sends row 4 to device 1
//
// The parts of the base and of the places need not fit each other: what the
// windows of a device read is a stretch of the base, and that is fetched.
#ifndef MESHWRIGHT_RULES_WINDOWS_H_
#define MESHWRIGHT_RULES_WINDOWS_H_

#include <cstdint>

#include "meshwright/hlo/dimension_numbers.h"
#include "meshwright/rules/lowering.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

// Elements of the base from the first to the last that a window covers.
int64_t Extent(const WindowDimension& window);

// The largest integer not above a / b. Requires: b > 0.
int64_t FloorDivide(int64_t a, int64_t b);

// Two factors that are split over the same axes, both unevenly if need be: of
// `item_size` windows (or taps) and of the base they read.
struct ItemFactors {
  int32_t item = 0;
  int32_t base = 0;
};
ItemFactors AddItems(int64_t item_size, int64_t base_size, Rule& rule);

// Factors of a dimension of the base and of its windows' places: one for both
// where they are alike or, for places that stay apart (kKept), where the base
// is the places times the stride; else two. `kind` is that of the places;
// `separate` asks for two wherever the sizes differ.
void AddWindowed(const WindowDimension& window, int64_t base_size,
                 int64_t places, FactorKind kind, bool separate, Rule& rule,
                 DimFactors& base, DimFactors& place);

// Whether shards of the base are whole strides of shards of the places.
bool IsAligned(const WindowDimension& window, int64_t base_size,
               int64_t places);

// Item i (the place of a window, or a tap of it) reads `extent` positions from
// i * step - padding_low on, of the base spread out by base_dilation.
struct Reach {
  int64_t step = 1;
  int64_t extent = 1;
  int64_t padding_low = 0;
  int64_t base_dilation = 1;
};

// How the base and the items that read it lie. Both are cut into equal parts,
// the last ones partly padding, along the same axes.
struct WindowSplit {
  int64_t dimension = 0;  // Of the base.
  AxisList axes;
  DimSharding base;
  int64_t items = 0;
};
// Along `dimension` of operand 0, with the items that factor `item` counts.
WindowSplit SplitOf(const LocalOp& op, int64_t dimension, int32_t item,
                    const Mesh& mesh);

struct Fetched {
  Instruction* value = nullptr;
  // In place of the given ones, local items count from 0.
  int64_t padding_low = 0;
  int64_t padding_high = 0;
  int64_t base_dilation = 1;
};

// `value`, a base that lies as `split` says, becomes what the items of each
// device read: `fill` beyond the ends and between what is spread out. What only
// padding reads is `fill` too if `clean`, otherwise anything.
Fetched FetchReach(const WindowSplit& split, const Reach& reach, bool clean,
                   Instruction* value, Instruction* fill,
                   LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_WINDOWS_H_
