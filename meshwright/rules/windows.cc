#include "meshwright/rules/windows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "meshwright/rules/exchange.h"

namespace meshwright {
namespace {

int64_t CeilDivide(int64_t a, int64_t b) { return -FloorDivide(-a, b); }

// Positions that the items of one device read: those of all, and of real ones.
struct Positions {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t real_end = 0;  // At most `begin` if none is real.
};

std::vector<Positions> PositionsOf(const WindowSplit& split, const Reach& reach,
                                   const Mesh& mesh) {
  const int64_t local = CeilDivide(split.items, mesh.Size(split.axes));
  std::vector<Positions> all;
  for (int64_t device = 0; device < mesh.device_count(); ++device) {
    const int64_t first = mesh.Coordinate(device, split.axes) * local;
    const int64_t real = std::min(local, split.items - first);
    const int64_t begin = first * reach.step - reach.padding_low;
    const auto end = [&](int64_t count) {
      return begin + (count - 1) * reach.step + reach.extent;
    };
    all.push_back({begin, end(local), real > 0 ? end(real) : begin});
  }
  return all;
}

// How far after each device's first position its first row lies: the same for
// all that need any, or -1.
int64_t CommonPhase(const std::vector<Positions>& positions, int64_t dilation) {
  int64_t common = -1;
  for (const Positions& one : positions) {
    if (one.real_end <= one.begin) continue;
    const int64_t phase =
        CeilDivide(one.begin, dilation) * dilation - one.begin;
    if (common >= 0 && phase != common) return -1;
    common = phase;
  }
  return common;
}

// `count` rows for every device, from `first` on.
Instruction* FetchRows(const WindowSplit& split, int64_t dilation, bool clean,
                       const std::vector<Positions>& positions,
                       const std::vector<int64_t>& first, int64_t count,
                       Instruction* value, Instruction* fill,
                       LocalBuilder& builder) {
  Movement movement = {.dimension = split.dimension,
                       .axes = split.axes,
                       .held = ElementsOf(split.base, builder.mesh())};
  const int64_t size = GlobalSize(split.base);
  for (size_t device = 0; device < positions.size(); ++device) {
    std::vector<int64_t>& list = movement.needed.emplace_back();
    for (int64_t row = first[device]; row < first[device] + count; ++row) {
      const bool read = row * dilation < positions[device].real_end;
      const int64_t other = read || clean ? kFilled : kAnything;
      list.push_back(read && row >= 0 && row < size ? row : other);
    }
  }
  return Exchange(movement, value, fill, builder);
}

// `size` positions from `start` (by device) of the value spread out.
Instruction* SpreadOut(Instruction* value, int64_t dimension, int64_t dilation,
                       const std::vector<int64_t>& start, int64_t size,
                       Instruction* fill, LocalBuilder& builder) {
  Shape shape =
      Shape::Array(value->shape.element_type, value->shape.dimensions);
  shape.dimensions[dimension] *= dilation;
  Attributes attributes;
  attributes.padding.emplace().dimensions.resize(shape.rank());
  attributes.padding->dimensions[dimension] = {.edge_high = dilation - 1,
                                               .interior = dilation - 1};
  Instruction* spread = builder.Add(Opcode::kPad, std::move(shape),
                                    {value, fill}, std::move(attributes));
  return builder.DynamicSlice(spread, dimension, builder.DeviceTable(start),
                              size);
}

}  // namespace

int64_t Extent(const WindowDimension& window) {
  return (window.size - 1) * window.window_dilation + 1;
}

int64_t FloorDivide(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && a < 0 ? 1 : 0);
}

ItemFactors AddItems(int64_t item_size, int64_t base_size, Rule& rule) {
  const int32_t item = AddShifted(item_size, -1, rule);
  return {item, AddShifted(base_size, item, rule)};
}

bool IsAligned(const WindowDimension& window, int64_t base_size,
               int64_t places) {
  return window.base_dilation == 1 && base_size == places * window.stride;
}

void AddWindowed(const WindowDimension& window, int64_t base_size,
                 int64_t places, FactorKind kind, bool separate, Rule& rule,
                 DimFactors& base, DimFactors& place) {
  if (window.base_dilation == 1 && base_size == places) {
    base = place = {rule.AddFactor(places, kind)};
    rule.factors[base[0]].may_pad = true;
  } else if (kind == FactorKind::kKept && !separate) {
    place = {rule.AddFactor(places, kind)};
    base = {place[0], rule.AddFactor(window.stride, FactorKind::kWhole)};
  } else if (kind != FactorKind::kWhole) {
    const ItemFactors factors = AddItems(places, base_size, rule);
    place = {factors.item};
    base = {factors.base};
  } else {
    place = {rule.AddFactor(places, kind)};
    base = {rule.AddFactor(base_size, kind)};
  }
}

WindowSplit SplitOf(const LocalOp& op, int64_t dimension, int32_t item,
                    const Mesh& mesh) {
  return {
      .dimension = dimension,
      .axes = op.axes(item),
      .base = OperandSharding(op.rule, op.strategy, 0, mesh).dims[dimension],
      .items = op.rule.factors[item].size};
}

Fetched FetchReach(const WindowSplit& split, const Reach& reach, bool clean,
                   Instruction* value, Instruction* fill,
                   LocalBuilder& builder) {
  const int64_t dilation = reach.base_dilation;
  const std::vector<Positions> positions =
      PositionsOf(split, reach, builder.mesh());
  const int64_t length = positions[0].end - positions[0].begin;
  const int64_t phase = CommonPhase(positions, dilation);
  std::vector<int64_t> first;
  if (phase >= 0) {
    // The window itself spreads out what lies alike on every device.
    for (const Positions& one : positions) {
      first.push_back(CeilDivide(one.begin, dilation));
    }
    const int64_t rows =
        std::max<int64_t>(CeilDivide(length - phase, dilation), 1);
    return {.value = FetchRows(split, dilation, clean, positions, first, rows,
                               value, fill, builder),
            .padding_low = phase,
            .padding_high = length - phase - (rows - 1) * dilation - 1,
            .base_dilation = dilation};
  }
  std::vector<int64_t> start;
  for (const Positions& one : positions) {
    first.push_back(FloorDivide(one.begin, dilation));
    start.push_back(one.begin - first.back() * dilation);
  }
  const int64_t rows = CeilDivide(length + dilation - 1, dilation);
  value = FetchRows(split, dilation, clean, positions, first, rows, value, fill,
                    builder);
  return {.value = SpreadOut(value, split.dimension, dilation, start, length,
                             fill, builder)};
}

}  // namespace meshwright
