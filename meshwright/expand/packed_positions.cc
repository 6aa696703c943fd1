#include "meshwright/expand/packed_positions.h"

#include <vector>

#include "meshwright/rules/take_rows.h"

namespace meshwright {
namespace {

constexpr ElementType kInteger = ElementType::kS32;

Instruction* FilledAs(const Instruction* like, int64_t value,
                      LocalBuilder& builder) {
  return builder.Broadcast(
      builder.Constant(like->shape.element_type, static_cast<double>(value)),
      like->shape.dimensions);
}

Instruction* FlatList(Instruction* values, LocalBuilder& builder) {
  const std::vector<int64_t>& sizes = values->shape.dimensions;
  return builder.Convert(kInteger,
                         builder.Reshape(values, {sizes[0] * sizes[1]}));
}

// [a,heads,b] as [a * b,heads].
Instruction* PositionsFirst(Instruction* value, LocalBuilder& builder) {
  const std::vector<int64_t> sizes = value->shape.dimensions;
  return builder.Reshape(builder.Transpose(value, {0, 2, 1}),
                         {sizes[0] * sizes[2], sizes[1]});
}

}  // namespace

PackedPositions FindPositions(Instruction* lengths, Instruction* offsets,
                              int64_t sequence, int64_t stride,
                              LocalBuilder& builder) {
  PackedPositions found;
  found.length = FlatList(lengths, builder);
  const int64_t count = found.length->shape.dimensions[0];
  Instruction* starts = builder.Slice(FlatList(offsets, builder), 0, 0, count);
  found.start = builder.Binary(Opcode::kDivide, starts,
                               FilledAs(starts, stride, builder));

  const int64_t batch = lengths->shape.dimensions[0];
  const std::vector<int64_t> pairs = {batch, sequence, count};
  Instruction* row = builder.Iota(kInteger, pairs, 0);
  Instruction* position = builder.Binary(
      Opcode::kAdd, builder.Iota(kInteger, pairs, 1),
      builder.Binary(Opcode::kMultiply, row, FilledAs(row, sequence, builder)));
  Instruction* within =
      builder.Binary(Opcode::kSubtract, position,
                     builder.BroadcastInDim(found.start, pairs, {2}));
  Instruction* zero = FilledAs(within, 0, builder);
  Instruction* is_in = builder.Binary(
      Opcode::kAnd, builder.Compare("GE", within, zero),
      builder.Compare("LT", within,
                      builder.BroadcastInDim(found.length, pairs, {2})));
  // Each position is in at most one segment.
  const auto of_segment = [&](Instruction* value) {
    return builder.Reduce(Reduction::kSum, builder.Select(is_in, value, zero),
                          {2});
  };
  Instruction* number = builder.Iota(kInteger, pairs, 2);
  found.segment = of_segment(
      builder.Binary(Opcode::kAdd, number, FilledAs(number, 1, builder)));
  found.within = of_segment(within);
  return found;
}

Instruction* BySegment(Instruction* by_position, const PackedPositions& queries,
                       LocalBuilder& builder) {
  const int64_t count = queries.start->shape.dimensions[0];
  const int64_t sequence = by_position->shape.dimensions[2];
  Instruction* within = builder.Iota(kInteger, {count, sequence}, 1);
  Instruction* index = builder.Binary(
      Opcode::kAdd, within,
      builder.BroadcastInDim(queries.start, {count, sequence}, {0}));
  Instruction* taken = builder.Transpose(
      TakeRows(PositionsFirst(by_position, builder), index, builder),
      {0, 2, 1});
  const std::vector<int64_t> sizes = taken->shape.dimensions;
  Instruction* is_in =
      builder.Compare("LT", builder.Iota(kInteger, sizes, 2),
                      builder.BroadcastInDim(queries.length, sizes, {0}));
  return builder.Select(is_in, taken, FilledAs(taken, 0, builder));
}

Instruction* ByPosition(Instruction* by_segment, const PackedPositions& queries,
                        LocalBuilder& builder) {
  const int64_t sequence = by_segment->shape.dimensions[2];
  Instruction* segment = builder.Binary(Opcode::kSubtract, queries.segment,
                                        FilledAs(queries.segment, 1, builder));
  Instruction* index =
      builder.Binary(Opcode::kAdd, queries.within,
                     builder.Binary(Opcode::kMultiply, segment,
                                    FilledAs(segment, sequence, builder)));
  return builder.Transpose(
      TakeRows(PositionsFirst(by_segment, builder), index, builder), {0, 2, 1});
}

}  // namespace meshwright
