#include "meshwright/expand/expand_lu.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace meshwright {
namespace {

using Values = std::vector<Instruction*>;
// The next values of what a loop carries, from iteration number and values.
using Body =
    std::function<Values(Instruction*, const Values&, LocalBuilder& inside)>;

Shape PlainArray(const Instruction* value) {
  return Shape::Array(value->shape.element_type, value->shape.dimensions);
}

// `count` iterations, from 0.
Values Repeat(int64_t count, const Values& start, const Body& body,
              LocalBuilder& builder) {
  LocalProgram& program = builder.program();
  std::vector<Shape> shapes = {Shape::Scalar(ElementType::kS32)};
  for (const Instruction* value : start) shapes.push_back(PlainArray(value));
  const Shape state = Shape::Tuple(std::move(shapes));

  Computation* again =
      program.module.AddComputation(program.UniqueName("columns"));
  LocalBuilder inside(&program, again);
  inside.set_source(builder.source());
  Instruction* carry = again->AddParameter(state, program.UniqueName("carry"));
  Instruction* index = inside.GetTupleElement(carry, 0);
  Values values;
  for (size_t i = 0; i < start.size(); ++i) {
    values.push_back(
        inside.GetTupleElement(carry, static_cast<int64_t>(i) + 1));
  }
  Values next = body(index, values, inside);
  next.insert(next.begin(),
              inside.Binary(Opcode::kAdd, index,
                            inside.Constant(ElementType::kS32, 1)));
  again->set_root(inside.Tuple(std::move(next)));

  Computation* condition =
      program.module.AddComputation(program.UniqueName("more_columns"));
  LocalBuilder test(&program, condition);
  Instruction* at = condition->AddParameter(state, program.UniqueName("carry"));
  condition->set_root(test.Compare(
      "LT", test.GetTupleElement(at, 0),
      test.Constant(ElementType::kS32, static_cast<double>(count))));

  Values first = start;
  first.insert(first.begin(), builder.Constant(ElementType::kS32, 0));
  Instruction* loop =
      builder.Add(Opcode::kWhile, state, {builder.Tuple(std::move(first))});
  loop->called = {again, condition};
  Values last;
  for (size_t i = 0; i < start.size(); ++i) {
    last.push_back(builder.GetTupleElement(loop, static_cast<int64_t>(i) + 1));
  }
  return last;
}

Instruction* FilledWith(double value, const Instruction* like,
                        LocalBuilder& builder) {
  return builder.Broadcast(builder.Constant(like->shape.element_type, value),
                           like->shape.dimensions);
}

// Magnitudes of real or complex numbers.
Instruction* Magnitude(Instruction* value, LocalBuilder& builder) {
  const ElementType type = value->shape.element_type;
  return builder.Add(
      Opcode::kAbs,
      Shape::Array(type == ElementType::kC64    ? ElementType::kF32
                   : type == ElementType::kC128 ? ElementType::kF64
                                                : type,
                   value->shape.dimensions),
      {value});
}

// s32[batch]: of column[batch,m], the row from `index` on with the largest
// magnitude; the first of several.
Instruction* PivotRow(Instruction* column, Instruction* index,
                      LocalBuilder& inside) {
  const std::vector<int64_t>& sizes = column->shape.dimensions;
  Instruction* row = inside.Iota(ElementType::kS32, sizes, 1);
  Instruction* size = Magnitude(column, inside);
  size =
      inside.Select(inside.Compare("GE", row, inside.Broadcast(index, sizes)),
                    size, FilledWith(-1, size, inside));
  Instruction* largest = inside.BroadcastInDim(
      inside.Reduce(Reduction::kMax, size, {1}), sizes, {0});
  Instruction* found = inside.Reduce(
      Reduction::kMin,
      inside.Select(inside.Compare("EQ", size, largest), row,
                    FilledWith(static_cast<double>(sizes[1]), row, inside)),
      {1});
  // None is the largest among NaNs.
  return inside.Select(
      inside.Compare("LT", found,
                     FilledWith(static_cast<double>(sizes[1]), found, inside)),
      found, inside.Broadcast(index, found->shape.dimensions));
}

// value[batch,m,n], with what elimination of column `index` makes of it, and
// pivots[batch,k].
Values Eliminate(Instruction* index, const Values& carried,
                 LocalBuilder& inside) {
  Instruction* value = carried[0];
  const std::vector<int64_t> sizes = value->shape.dimensions;
  const std::vector<int64_t> rows = {sizes[0], sizes[1]};
  Instruction* pivot =
      PivotRow(inside.Reshape(inside.DynamicSlice(value, 2, index, 1), rows),
               index, inside);
  Instruction* pivots = inside.DynamicUpdateSlice(
      carried[1],
      inside.Reshape(
          inside.Binary(Opcode::kAdd, pivot, FilledWith(1, pivot, inside)),
          {sizes[0], 1}),
      1, index);

  // Swap the rows.
  Instruction* row = inside.Iota(ElementType::kS32, sizes, 1);
  Instruction* is_pivot =
      inside.Compare("EQ", row, inside.BroadcastInDim(pivot, sizes, {0}));
  Instruction* top = inside.Reduce(
      Reduction::kSum,
      inside.Select(is_pivot, value, FilledWith(0, value, inside)), {1});
  Instruction* old = inside.Reshape(inside.DynamicSlice(value, 1, index, 1),
                                    {sizes[0], sizes[2]});
  value =
      inside.Select(is_pivot, inside.BroadcastInDim(old, sizes, {0, 2}), value);
  value = inside.DynamicUpdateSlice(
      value, inside.Reshape(top, {sizes[0], 1, sizes[2]}), 1, index);

  // Divide the column below by the pivot, unless that is zero.
  Instruction* column =
      inside.Reshape(inside.DynamicSlice(value, 2, index, 1), rows);
  Instruction* divisor = inside.BroadcastInDim(
      inside.Reshape(inside.DynamicSlice(top, 1, index, 1), {sizes[0]}), rows,
      {0});
  Instruction* below =
      inside.Compare("GT", inside.Iota(ElementType::kS32, rows, 1),
                     inside.Broadcast(index, rows));
  Instruction* factor = inside.Select(
      inside.Binary(
          Opcode::kAnd, below,
          inside.Compare("NE", divisor, FilledWith(0, divisor, inside))),
      inside.Binary(Opcode::kDivide, column, divisor), column);
  value = inside.DynamicUpdateSlice(
      value, inside.Reshape(factor, {sizes[0], sizes[1], 1}), 2, index);

  // Subtract its multiples from the rest.
  Instruction* at = inside.Broadcast(index, sizes);
  Instruction* is_rest = inside.Binary(
      Opcode::kAnd, inside.Compare("GT", row, at),
      inside.Compare("GT", inside.Iota(ElementType::kS32, sizes, 2), at));
  Instruction* change = inside.Binary(
      Opcode::kMultiply, inside.BroadcastInDim(factor, sizes, {0, 1}),
      inside.BroadcastInDim(top, sizes, {0, 2}));
  value = inside.Select(is_rest,
                        inside.Binary(Opcode::kSubtract, value, change), value);
  return {value, pivots};
}

int64_t ProductOf(const std::vector<int64_t>& sizes, int64_t count) {
  int64_t product = 1;
  for (int64_t i = 0; i < count; ++i) product *= sizes[i];
  return product;
}

}  // namespace

Factors FactorRows(Instruction* matrix, LocalBuilder& builder) {
  const std::vector<int64_t> sizes = matrix->shape.dimensions;
  const int64_t batched = static_cast<int64_t>(sizes.size()) - 2;
  const int64_t batch = ProductOf(sizes, batched);
  const int64_t count = std::min(sizes[batched], sizes[batched + 1]);
  std::vector<int64_t> pivots(sizes.begin(), sizes.end() - 2);
  pivots.push_back(count);
  const Values last = Repeat(
      count,
      {builder.Reshape(matrix, {batch, sizes[batched], sizes[batched + 1]}),
       builder.Broadcast(builder.Constant(ElementType::kS32, 0),
                         {batch, count})},
      Eliminate, builder);
  return {.matrix = builder.Reshape(last[0], sizes),
          .pivots = builder.Reshape(last[1], std::move(pivots))};
}

Instruction* PermutationOf(Instruction* pivots, const Shape& shape,
                           LocalBuilder& builder) {
  const int64_t batched = pivots->shape.rank() - 1;
  const int64_t count = pivots->shape.dimensions[batched];
  const int64_t batch = ProductOf(pivots->shape.dimensions, batched);
  const std::vector<int64_t> sizes = {batch, shape.dimensions[batched]};
  const auto swap = [&](Instruction* index, const Values& carried,
                        LocalBuilder& inside) -> Values {
    Instruction* other = inside.BroadcastInDim(
        inside.Reshape(inside.DynamicSlice(carried[1], 1, index, 1), {batch}),
        sizes, {0});
    Instruction* is_other =
        inside.Compare("EQ", inside.Iota(ElementType::kS32, sizes, 1), other);
    Instruction* there = inside.Reduce(
        Reduction::kSum,
        inside.Select(is_other, carried[0], FilledWith(0, carried[0], inside)),
        {1});
    Instruction* here =
        inside.Reshape(inside.DynamicSlice(carried[0], 1, index, 1), {batch});
    Instruction* moved = inside.Select(
        is_other, inside.BroadcastInDim(here, sizes, {0}), carried[0]);
    return {inside.DynamicUpdateSlice(moved, inside.Reshape(there, {batch, 1}),
                                      1, index),
            carried[1]};
  };
  const Values last = Repeat(count,
                             {builder.Iota(ElementType::kS32, sizes, 1),
                              builder.Reshape(pivots, {batch, count})},
                             swap, builder);
  return builder.Reshape(last[0], shape.dimensions);
}

}  // namespace meshwright
