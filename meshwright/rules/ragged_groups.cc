#include "meshwright/rules/ragged_groups.h"

#include <numeric>
#include <vector>

namespace meshwright {
namespace {

Instruction* Clip(Instruction* value, int64_t largest, LocalBuilder& builder) {
  const std::vector<int64_t>& sizes = value->shape.dimensions;
  const auto number = [&](int64_t constant) {
    return builder.Broadcast(
        builder.Constant(ElementType::kS32, static_cast<double>(constant)),
        sizes);
  };
  value = builder.Binary(Opcode::kMaximum, value, number(0));
  return builder.Binary(Opcode::kMinimum, value, number(largest));
}

Instruction* Shifted(Instruction* value, Instruction* start,
                     LocalBuilder& builder) {
  return builder.Binary(Opcode::kSubtract, value,
                        builder.Broadcast(start, value->shape.dimensions));
}

}  // namespace

GroupBounds BoundsOf(Instruction* sizes, LocalBuilder& builder) {
  sizes = builder.Convert(ElementType::kS32, sizes);
  // Sums of all up to each: there are few groups.
  const int64_t last = sizes->shape.rank() - 1;
  std::vector<int64_t> pairs = sizes->shape.dimensions;
  pairs.push_back(pairs.back());
  std::vector<int64_t> others(last);
  std::iota(others.begin(), others.end(), 0);
  others.push_back(last + 1);
  Instruction* counted =
      builder.Compare("LE", builder.Iota(ElementType::kS32, pairs, last + 1),
                      builder.Iota(ElementType::kS32, pairs, last));
  Instruction* zero =
      builder.Broadcast(builder.Constant(ElementType::kS32, 0), pairs);
  Instruction* end = builder.Reduce(
      Reduction::kSum,
      builder.Select(counted, builder.BroadcastInDim(sizes, pairs, others),
                     zero),
      {last + 1});
  return {.start = builder.Binary(Opcode::kSubtract, end, sizes), .end = end};
}

GroupBounds WithinBlock(const GroupBounds& bounds, Instruction* start,
                        int64_t size, LocalBuilder& builder) {
  return {.start = Clip(Shifted(bounds.start, start, builder), size, builder),
          .end = Clip(Shifted(bounds.end, start, builder), size, builder)};
}

GroupBounds TakeGroups(const GroupBounds& bounds, Instruction* first,
                       int64_t count, int64_t limit, LocalBuilder& builder) {
  const int64_t last = bounds.start->shape.rank() - 1;
  const auto take = [&](Instruction* value) {
    const int64_t more = limit - value->shape.dimensions[last];
    if (more > 0) {
      Instruction* zero = builder.Constant(ElementType::kS32, 0);
      value = builder.Pad(value, zero, last, 0, more);
    }
    return builder.DynamicSlice(value, last, first, count);
  };
  return {.start = take(bounds.start), .end = take(bounds.end)};
}

Instruction* InGroup(const GroupBounds& bounds,
                     absl::Span<const int64_t> dimensions, int64_t group,
                     absl::Span<const int64_t> outer, int64_t ragged,
                     LocalBuilder& builder) {
  std::vector<int64_t> mapping(outer.begin(), outer.end());
  mapping.push_back(group);
  Instruction* index = builder.Iota(ElementType::kS32, dimensions, ragged);
  Instruction* begun = builder.Compare(
      "GE", index, builder.BroadcastInDim(bounds.start, dimensions, mapping));
  Instruction* open = builder.Compare(
      "LT", index, builder.BroadcastInDim(bounds.end, dimensions, mapping));
  return builder.Binary(Opcode::kAnd, begun, open);
}

}  // namespace meshwright
