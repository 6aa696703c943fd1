#include "meshwright/expand/ragged_layout.h"

#include <vector>

#include "meshwright/rules/ragged_groups.h"
#include "meshwright/rules/take_rows.h"

namespace meshwright {
namespace {

// s32 arrays.
class Indices {
 public:
  explicit Indices(LocalBuilder& builder) : builder_(builder) {}

  Instruction* Number(int64_t number, const std::vector<int64_t>& sizes) const {
    return builder_.Broadcast(
        builder_.Constant(ElementType::kS32, static_cast<double>(number)),
        sizes);
  }
  Instruction* With(Opcode opcode, Instruction* value, int64_t number) const {
    return builder_.Binary(opcode, value,
                           Number(number, value->shape.dimensions));
  }
  Instruction* Add(Instruction* a, Instruction* b) const {
    return builder_.Binary(Opcode::kAdd, a, b);
  }
  Instruction* Subtract(Instruction* a, Instruction* b) const {
    return builder_.Binary(Opcode::kSubtract, a, b);
  }
  // For each of `count` numbers from 0 on, how many of `ends` it has reached.
  Instruction* Reached(int64_t count, Instruction* ends) const {
    const std::vector<int64_t> pairs = {count, ends->shape.dimensions[0]};
    Instruction* reached =
        builder_.Compare("GE", builder_.Iota(ElementType::kS32, pairs, 0),
                         builder_.BroadcastInDim(ends, pairs, {1}));
    return builder_.Reduce(Reduction::kSum,
                           builder_.Convert(ElementType::kS32, reached), {1});
  }
  Instruction* Both(Instruction* a, Instruction* b) const {
    return builder_.Binary(Opcode::kAnd, a, b);
  }

 private:
  LocalBuilder& builder_;
};

}  // namespace

RowLayout LayOutRows(const RaggedDotNumbers& numbers, const Shape& lhs,
                     Instruction* sizes, const RaggedBlocks& blocks,
                     LocalBuilder& builder) {
  const Indices indices(builder);
  const int64_t most = lhs.dimensions[numbers.ragged];
  GroupBounds bounds =
      WithinBlock(BoundsOf(sizes, builder),
                  builder.Constant(ElementType::kS32, 0), most, builder);
  int64_t outer = 1;
  for (const int64_t dimension : numbers.outer) {
    outer *= lhs.dimensions[dimension];
  }
  const int64_t rows = outer * most;
  RowLayout layout{.groups = outer * sizes->shape.dimensions.back()};
  const auto flat = [&](Instruction* value) {
    value = builder.Reshape(value, {outer, sizes->shape.dimensions.back()});
    Instruction* first = indices.With(
        Opcode::kMultiply,
        builder.Iota(ElementType::kS32, value->shape.dimensions, 0), most);
    return builder.Reshape(indices.Add(value, first), {layout.groups});
  };
  bounds = {.start = flat(bounds.start), .end = flat(bounds.end)};
  Instruction* filled = indices.With(
      Opcode::kDivide,
      indices.With(Opcode::kAdd, indices.Subtract(bounds.end, bounds.start),
                   blocks.rows - 1),
      blocks.rows);
  const GroupBounds of_blocks = BoundsOf(filled, builder);

  const std::vector<int64_t> count = {blocks.count};
  Instruction* group = indices.Reached(blocks.count, of_blocks.end);
  Instruction* used =
      builder.Compare("LT", group, indices.Number(layout.groups, count));
  layout.group = indices.With(Opcode::kMinimum, group, layout.groups - 1);
  const auto of_group = [&](Instruction* values) {
    return TakeRows(values, layout.group, builder);
  };
  Instruction* begin =
      indices.With(Opcode::kMultiply,
                   indices.Subtract(builder.Iota(ElementType::kS32, count, 0),
                                    of_group(of_blocks.start)),
                   blocks.rows);
  begin = indices.Add(begin, of_group(bounds.start));
  const std::vector<int64_t> cells = {blocks.count, blocks.rows};
  const auto along = [&](Instruction* value) {
    return builder.BroadcastInDim(value, cells, {0});
  };
  layout.rows =
      indices.Add(along(begin), builder.Iota(ElementType::kS32, cells, 1));
  layout.exists = indices.Both(
      builder.Compare("LT", layout.rows, along(of_group(bounds.end))),
      along(used));
  if (numbers.kind != RaggedDotNumbers::Ragged::kFree) return layout;

  Instruction* row = builder.Iota(ElementType::kS32, {rows}, 0);
  Instruction* in = indices.Reached(rows, bounds.end);
  Instruction* known =
      builder.Compare("LT", in, indices.Number(layout.groups, {rows}));
  in = indices.With(Opcode::kMinimum, in, layout.groups - 1);
  Instruction* within =
      indices.Subtract(row, TakeRows(bounds.start, in, builder));
  layout.placed = indices.Both(
      known, builder.Compare("GE", within, indices.Number(0, {rows})));
  layout.place = indices.Add(
      indices.With(Opcode::kMultiply, TakeRows(of_blocks.start, in, builder),
                   blocks.rows),
      within);
  return layout;
}

}  // namespace meshwright
