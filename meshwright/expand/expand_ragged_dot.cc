// ragged-dot, in blocks of rows that are each of one group (ragged_blocks.h).
//
//   rows of the left operand  [rows, ..]   gathered: [blocks, size, ..]
//   kFree        times the matrices of their groups, gathered [blocks, ..]; the
//                results [blocks, size, ..] gathered back: [rows, ..]
//   kContracted  times those of the right operand, gathered; the products
//                [blocks, ..] are added up by group: [groups, ..]
//
// Groups that differ along outer dimensions are more groups, of the rows of all
// of them.
#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "meshwright/base/status_macros.h"
#include "meshwright/expand/expansions.h"
#include "meshwright/expand/ragged_blocks.h"
#include "meshwright/expand/ragged_layout.h"
#include "meshwright/hlo/ragged_dot_numbers.h"
#include "meshwright/rules/take_rows.h"

namespace meshwright {
namespace {

using Dimensions = std::vector<int64_t>;
using Ragged = RaggedDotNumbers::Ragged;

int64_t Product(const Dimensions& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1},
                         std::multiplies<>());
}

bool Has(const Dimensions& dimensions, int64_t dimension) {
  return std::ranges::find(dimensions, dimension) != dimensions.end();
}

Dimensions SizesOf(const Shape& shape, const Dimensions& dimensions) {
  Dimensions sizes;
  for (const int64_t dimension : dimensions) {
    sizes.push_back(shape.dimensions[dimension]);
  }
  return sizes;
}

// An operand with `first` of its dimensions made one, in front of the others.
struct Rows {
  Rows(Instruction* operand, const Dimensions& first, LocalBuilder& builder) {
    Dimensions order = first;
    for (int64_t i = 0; i < operand->shape.rank(); ++i) {
      if (!Has(first, i)) order.push_back(i);
    }
    rest.assign(order.begin() + std::ssize(first), order.end());
    Dimensions sizes = SizesOf(operand->shape, rest);
    sizes.insert(sizes.begin(), Product(SizesOf(operand->shape, first)));
    value = builder.Reshape(builder.Transpose(operand, order), sizes);
  }

  // Where `dimensions` of the operand are, after `before` dimensions.
  Dimensions PlacesOf(const Dimensions& dimensions, int64_t before) const {
    Dimensions places;
    for (const int64_t dimension : dimensions) {
      const auto found = std::ranges::find(rest, dimension);
      if (found != rest.end())
        places.push_back(before + (found - rest.begin()));
    }
    return places;
  }

  Instruction* value = nullptr;
  Dimensions rest;  // The others.
};

class InBlocks {
 public:
  InBlocks(const Instruction& instruction, RaggedDotNumbers numbers,
           const RaggedBlocks& blocks, LocalBuilder& builder)
      : instruction_(instruction),
        numbers_(std::move(numbers)),
        blocks_(blocks),
        builder_(builder),
        layout_(LayOutRows(numbers_, instruction.operand_shape(0),
                           instruction.operands[2], blocks, builder)) {
    for (const int64_t outer : numbers_.outer) {
      const auto& batch = numbers_.dot.lhs_batch;
      const auto found = std::ranges::find(batch, outer);
      if (found == batch.end()) continue;
      outer_batch_.push_back(outer);
      rhs_batch_.push_back(numbers_.dot.rhs_batch[found - batch.begin()]);
    }
    for (const int64_t batch : numbers_.dot.lhs_batch) {
      if (!Has(outer_batch_, batch)) other_batch_.push_back(batch);
    }
  }

  Instruction* Free() {
    const Shape& shape = instruction_.operand_shape(0);
    Dimensions first = numbers_.outer;
    first.push_back(numbers_.ragged);
    const Rows lhs(instruction_.operands[0], first, builder_);
    Dimensions matrices = rhs_batch_;
    matrices.push_back(numbers_.rhs_group);
    const Rows rhs(instruction_.operands[1], matrices, builder_);
    Instruction* product =
        Dot(TakeRows(lhs.value, layout_.rows, builder_), lhs, 2,
            TakeRows(rhs.value, GroupOfMatrix(), builder_), rhs, 1,
            instruction_.shape.element_type);
    // [blocks, other batch.., size, ..] -> [blocks, size, other batch.., ..]
    const int64_t between = std::ssize(other_batch_);
    Dimensions order(product->shape.rank());
    std::iota(order.begin(), order.end(), 0);
    std::rotate(order.begin() + 1, order.begin() + 1 + between,
                order.begin() + 2 + between);
    product = builder_.Transpose(product, order);
    Dimensions sizes(product->shape.dimensions.begin() + 1,
                     product->shape.dimensions.end());
    sizes[0] = blocks_.count * blocks_.rows;
    product =
        TakeRows(builder_.Reshape(product, sizes), layout_.place, builder_);
    product = OrZero(layout_.placed, product, 1);
    Dimensions made = first;
    made.insert(made.end(), other_batch_.begin(), other_batch_.end());
    for (const int64_t free : numbers_.lhs_free) {
      if (!Has(first, free)) made.push_back(free);
    }
    sizes = SizesOf(shape, made);
    for (const int64_t free : numbers_.rhs_free) {
      sizes.push_back(instruction_.operand_shape(1).dimensions[free]);
    }
    Dimensions wanted = numbers_.dot.lhs_batch;
    wanted.insert(wanted.end(), numbers_.lhs_free.begin(),
                  numbers_.lhs_free.end());
    return builder_.Transpose(builder_.Reshape(product, sizes),
                              OrderOf(wanted, made, sizes.size()));
  }

  Instruction* Contracted() {
    Dimensions first = numbers_.outer;
    first.push_back(numbers_.ragged);
    Dimensions of_rhs;
    for (const int64_t dimension : first) {
      of_rhs.push_back(RightDimension(dimension));
    }
    const Rows lhs(instruction_.operands[0], first, builder_);
    const Rows rhs(instruction_.operands[1], of_rhs, builder_);
    const auto taken = [&](const Rows& rows) {
      return OrZero(layout_.exists,
                    TakeRows(rows.value, layout_.rows, builder_), 2);
    };
    Instruction* left = taken(lhs);
    Instruction* right = taken(rhs);
    const ElementType type = instruction_.shape.element_type;
    // Added up as in one dot: not rounded before.
    const ElementType sum =
        IsFloating(type) && BitWidth(type) < 32 ? ElementType::kF32 : type;
    Instruction* product = SumByGroup(
        Dot(FiniteOrZero(left), lhs, 2, FiniteOrZero(right), rhs, 2, sum));
    Dimensions of_batch;
    for (const int64_t one : other_batch_) {
      of_batch.push_back(RightDimension(one));
    }
    int64_t next = 1 + std::ssize(other_batch_);
    product =
        OrNan(product, left, lhs.PlacesOf(other_batch_, 2),
              lhs.PlacesOf(numbers_.dot.lhs_contracting, 2), next);
    product = OrNan(product, right, rhs.PlacesOf(of_batch, 2),
                    rhs.PlacesOf(numbers_.dot.rhs_contracting, 2), next);
    product = builder_.Convert(type, product);
    // [outer batch.., groups, other batch.., ..] -> [groups, batch.., ..]
    Dimensions made = outer_batch_;
    made.push_back(-1);
    made.insert(made.end(), other_batch_.begin(), other_batch_.end());
    Dimensions sizes = SizesOf(instruction_.operand_shape(0), outer_batch_);
    sizes.push_back(instruction_.shape.dimensions[0]);
    sizes.insert(sizes.end(), product->shape.dimensions.begin() + 1,
                 product->shape.dimensions.end());
    Dimensions wanted = {-1};
    wanted.insert(wanted.end(), numbers_.dot.lhs_batch.begin(),
                  numbers_.dot.lhs_batch.end());
    return builder_.Transpose(builder_.Reshape(product, sizes),
                              OrderOf(wanted, made, sizes.size()));
  }

 private:
  // The permutation from `made` to `wanted`, the same in another order; what
  // follows stays.
  static Dimensions OrderOf(const Dimensions& wanted, const Dimensions& made,
                            size_t rank) {
    Dimensions order(rank);
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = 0; i < wanted.size(); ++i) {
      order[i] = std::ranges::find(made, wanted[i]) - made.begin();
    }
    return order;
  }

  int64_t RightDimension(int64_t lhs) const {
    const DotDimensionNumbers& dot = numbers_.dot;
    const auto batch = std::ranges::find(dot.lhs_batch, lhs);
    if (batch != dot.lhs_batch.end()) {
      return dot.rhs_batch[batch - dot.lhs_batch.begin()];
    }
    return dot.rhs_contracting[std::ranges::find(dot.lhs_contracting, lhs) -
                               dot.lhs_contracting.begin()];
  }

  // Of `value`, zero where `rows`, its first `rank` dimensions, is false.
  Instruction* OrZero(Instruction* rows, Instruction* value, int64_t rank) {
    const Dimensions& sizes = value->shape.dimensions;
    Dimensions mapping(rank);
    std::iota(mapping.begin(), mapping.end(), 0);
    Instruction* zero = builder_.Constant(value->shape.element_type, 0);
    return builder_.Select(builder_.BroadcastInDim(rows, sizes, mapping), value,
                           builder_.Broadcast(zero, sizes));
  }

  // pred; null if all values of the type are finite.
  Instruction* Finite(Instruction* value) {
    const ElementType type = value->shape.element_type;
    if (!IsFloating(type)) return nullptr;
    Instruction* wide = builder_.Convert(
        BitWidth(type) < 32 ? ElementType::kF32 : type, value);
    Instruction* infinity = builder_.Constant(
        wide->shape.element_type, std::numeric_limits<double>::infinity());
    return builder_.Compare(
        "LT", builder_.Unary(Opcode::kAbs, wide),
        builder_.Broadcast(infinity, wide->shape.dimensions));
  }

  // What is not finite would be NaN in all groups, by the zeros of SumByGroup:
  // products have 0 in its place, and sums NaN (OrNan).
  Instruction* FiniteOrZero(Instruction* rows) {
    Instruction* finite = Finite(rows);
    if (finite == nullptr) return rows;
    return OrZero(finite, rows, rows->shape.rank());
  }

  // `sums` by group, NaN where taken rows, [blocks, size, ..], of the group are
  // not finite. `next` dimension of the sums is the first free one of the rows.
  Instruction* OrNan(Instruction* sums, Instruction* rows,
                     const Dimensions& batch, Dimensions contracting,
                     int64_t& next) {
    contracting.push_back(1);
    std::ranges::sort(contracting);
    Dimensions mapping;
    for (int64_t i = 0; i < rows->shape.rank(); ++i) {
      if (Has(contracting, i)) continue;
      const auto found = std::ranges::find(batch, i);
      mapping.push_back(i == 0               ? 0
                        : found == batch.end() ? next++
                                               : 1 + (found - batch.begin()));
    }
    Instruction* finite = Finite(rows);
    if (finite == nullptr) return sums;
    Instruction* found = SumByGroup(builder_.Reduce(
        Reduction::kMax,
        builder_.Convert(ElementType::kF32,
                         builder_.Unary(Opcode::kNot, finite)),
        contracting));
    Instruction* zero = builder_.Constant(ElementType::kF32, 0);
    Instruction* nan =
        builder_.Constant(sums->shape.element_type,
                          std::numeric_limits<double>::quiet_NaN());
    const Dimensions& sizes = sums->shape.dimensions;
    return builder_.Select(
        builder_.BroadcastInDim(
            builder_.Compare("GT", found,
                             builder_.Broadcast(zero, found->shape.dimensions)),
            sizes, mapping),
        builder_.Broadcast(nan, sizes), sums);
  }

  // By block: its group among those of the outer batch dimensions alone, as
  // outer dimensions that are not of the batch have the same matrices.
  Instruction* GroupOfMatrix() {
    const int64_t groups = instruction_.operand_shape(2).dimensions.back();
    const int64_t in_batch =
        groups * Product(SizesOf(instruction_.operand_shape(0), outer_batch_));
    if (layout_.groups == in_batch) return layout_.group;
    const auto with = [&](Opcode opcode, Instruction* value, int64_t number) {
      return builder_.Binary(
          opcode, value,
          builder_.Broadcast(
              builder_.Constant(ElementType::kS32, static_cast<double>(number)),
              value->shape.dimensions));
    };
    Instruction* batch = with(Opcode::kDivide, layout_.group,
                              layout_.groups / in_batch * groups);
    return builder_.Binary(Opcode::kAdd, with(Opcode::kMultiply, batch, groups),
                           with(Opcode::kRemainder, layout_.group, groups));
  }

  // For each block. The left operand has its rows before its other dimensions,
  // in `before_lhs` dimensions, the right one its rows or none.
  Instruction* Dot(Instruction* left, const Rows& lhs, int64_t before_lhs,
                   Instruction* right, const Rows& rhs, int64_t before_rhs,
                   ElementType type) {
    Attributes attributes;
    DotDimensionNumbers& dot = attributes.dot.emplace();
    Dimensions batch_of_rhs;
    for (const int64_t one : other_batch_) {
      batch_of_rhs.push_back(RightDimension(one));
    }
    dot.lhs_batch = lhs.PlacesOf(other_batch_, before_lhs);
    dot.rhs_batch = rhs.PlacesOf(batch_of_rhs, before_rhs);
    dot.lhs_contracting =
        lhs.PlacesOf(numbers_.dot.lhs_contracting, before_lhs);
    dot.rhs_contracting =
        rhs.PlacesOf(numbers_.dot.rhs_contracting, before_rhs);
    dot.lhs_batch.insert(dot.lhs_batch.begin(), 0);
    dot.rhs_batch.insert(dot.rhs_batch.begin(), 0);
    if (before_rhs == 2) {
      dot.lhs_contracting.insert(dot.lhs_contracting.begin(), 1);
      dot.rhs_contracting.insert(dot.rhs_contracting.begin(), 1);
    }
    attributes.precision = instruction_.attributes->precision;
    Dimensions sizes = SizesOf(left->shape, dot.lhs_batch);
    const auto add_free = [&](const Shape& shape, const Dimensions& batch,
                              const Dimensions& contracting) {
      for (int64_t i = 0; i < shape.rank(); ++i) {
        if (!Has(batch, i) && !Has(contracting, i)) {
          sizes.push_back(shape.dimensions[i]);
        }
      }
    };
    add_free(left->shape, dot.lhs_batch, dot.lhs_contracting);
    add_free(right->shape, dot.rhs_batch, dot.rhs_contracting);
    return builder_.Add(Opcode::kDot, Shape::Array(type, std::move(sizes)),
                        {left, right}, std::move(attributes));
  }

  // A product with ones: sums in a fixed order, unlike updates of a scatter.
  Instruction* SumByGroup(Instruction* products) {
    Instruction* group = GroupOfMatrix();
    const int64_t groups =
        instruction_.operand_shape(2).dimensions.back() *
        Product(SizesOf(instruction_.operand_shape(0), outer_batch_));
    const Dimensions pairs = {groups, blocks_.count};
    const ElementType type = products->shape.element_type;
    Instruction* ones = builder_.Convert(
        type, builder_.Compare("EQ", builder_.Iota(ElementType::kS32, pairs, 0),
                               builder_.BroadcastInDim(group, pairs, {1})));
    Dimensions sizes = products->shape.dimensions;
    const int64_t rest = Product(sizes) / blocks_.count;
    sizes[0] = groups;
    Attributes attributes;
    attributes.dot =
        DotDimensionNumbers{.lhs_contracting = {1}, .rhs_contracting = {0}};
    attributes.precision.emplace().operand_precision = {kHighest, kHighest};
    Instruction* sum =
        builder_.Add(Opcode::kDot, Shape::Array(type, {groups, rest}),
                     {ones, builder_.Reshape(products, {blocks_.count, rest})},
                     std::move(attributes));
    return builder_.Reshape(sum, sizes);
  }

  static constexpr int32_t kHighest = 2;

  const Instruction& instruction_;
  const RaggedDotNumbers numbers_;
  const RaggedBlocks blocks_;
  LocalBuilder& builder_;
  const RowLayout layout_;
  Dimensions outer_batch_;  // Dimensions of the left operand,
  Dimensions rhs_batch_;    // and these of the right one.
  Dimensions other_batch_;
};

}  // namespace

absl::StatusOr<Instruction*> ExpandRaggedDot(const Instruction& instruction,
                                             LocalBuilder& builder) {
  MW_ASSIGN_OR_RETURN(RaggedDotNumbers numbers,
                      RaggedDotNumbersOf(instruction));
  if (numbers.kind == Ragged::kBatch) {
    Attributes attributes;
    attributes.dot = numbers.dot;
    attributes.precision = instruction.attributes->precision;
    return builder.Add(Opcode::kDot, instruction.shape,
                       {instruction.operands[0], instruction.operands[1]},
                       std::move(attributes));
  }
  const RaggedBlocks blocks =
      BlocksOf(numbers, instruction.operand_shape(0).dimensions,
               instruction.operand_shape(2).dimensions.back());
  if (blocks.count == 0) {
    return builder.Broadcast(
        builder.Constant(instruction.shape.element_type, 0),
        instruction.shape.dimensions);
  }
  const bool is_free = numbers.kind == Ragged::kFree;
  InBlocks in_blocks(instruction, std::move(numbers), blocks, builder);
  return is_free ? in_blocks.Free() : in_blocks.Contracted();
}

}  // namespace meshwright
