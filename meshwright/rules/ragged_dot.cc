// ragged-dot: as dot. Along the ragged dimension a shard counts what of each
// group lies in it. Over groups, each device multiplies its own: the rows of
// its first group come first, as the sizes know no beginning, and return to
// their place afterwards; rows of other devices' groups are zero.
#include <algorithm>
#include <utility>

#include "meshwright/hlo/ragged_dot_numbers.h"
#include "meshwright/rules/families.h"
#include "meshwright/rules/local_index.h"
#include "meshwright/rules/ragged_groups.h"

namespace meshwright {
namespace {

using Ragged = RaggedDotNumbers::Ragged;

// Factor numbers, by dimension.
struct RaggedFactors {
  std::vector<int32_t> lhs;
  std::vector<int32_t> rhs;
  int32_t group = -1;  // None for kBatch.

  int32_t ragged(const RaggedDotNumbers& numbers) const {
    return lhs[numbers.ragged];
  }
};

// In the order in which RaggedDotFactors makes them.
RaggedFactors RaggedFactorsOf(const LocalOp& op,
                              const RaggedDotNumbers& numbers) {
  RaggedFactors factors;
  for (const DimFactors& dim : op.rule.operands[0]) {
    factors.lhs.push_back(dim[0]);
  }
  for (const DimFactors& dim : op.rule.operands[1]) {
    factors.rhs.push_back(dim[0]);
  }
  if (numbers.kind == Ragged::kFree) {
    factors.group = factors.rhs[numbers.rhs_group];
  } else if (numbers.kind == Ragged::kContracted) {
    factors.group = op.rule.results[0][0][0];
  }
  return factors;
}

// Local operands, and the dimension numbers that go with them.
struct LocalDot {
  RaggedDotNumbers numbers;
  LocalValues operands;
  Shape shape;  // Of the result.

  // The dimension of the result that is this one of the left operand; not of
  // contracted ones.
  int64_t ResultDimension(int64_t lhs) const {
    const auto& batch = numbers.dot.lhs_batch;
    const auto found = std::ranges::find(batch, lhs);
    if (found != batch.end()) return found - batch.begin();
    return std::ssize(batch) + (std::ranges::find(numbers.lhs_free, lhs) -
                                numbers.lhs_free.begin());
  }
  // The dimension of the right operand that is multiplied with it.
  int64_t RightDimension(int64_t lhs) const {
    const auto& batch = numbers.dot.lhs_batch;
    const auto found = std::ranges::find(batch, lhs);
    if (found != batch.end()) {
      return numbers.dot.rhs_batch[found - batch.begin()];
    }
    const auto& contracting = numbers.dot.lhs_contracting;
    return numbers.dot.rhs_contracting[std::ranges::find(contracting, lhs) -
                                       contracting.begin()];
  }
};

// `value` along `dimension`, from `start` on, then what is before. Dimension i
// of `start`, s32[..], is `outer[i]` of `value`.
Instruction* Rotate(Instruction* value, int64_t dimension, Instruction* start,
                    const std::vector<int64_t>& outer, LocalBuilder& builder) {
  const int64_t size = value->shape.dimensions[dimension];
  if (outer.empty()) {
    return builder.DynamicSlice(builder.Concatenate({value, value}, dimension),
                                dimension, start, size);
  }
  // Indices have the outer dimensions and this one, in their order.
  std::vector<int64_t> indexed = outer;
  indexed.push_back(dimension);
  std::ranges::sort(indexed);
  const auto place = [&](int64_t one) {
    return std::ranges::find(indexed, one) - indexed.begin();
  };
  std::vector<int64_t> sizes;
  std::vector<int64_t> mapping;
  Attributes attributes;
  GatherDimensionNumbers& numbers = attributes.gather.emplace();
  numbers.collapsed_slice_dims = numbers.start_index_map = {dimension};
  numbers.index_vector_dim = std::ssize(indexed);
  for (int64_t i = 0; i < value->shape.rank(); ++i) {
    if (std::ranges::find(indexed, i) == indexed.end()) {
      numbers.offset_dims.push_back(i);
      attributes.gather_slice_sizes.push_back(value->shape.dimensions[i]);
      continue;
    }
    attributes.gather_slice_sizes.push_back(1);
    sizes.push_back(value->shape.dimensions[i]);
    if (i == dimension) continue;
    numbers.operand_batching_dims.push_back(i);
    numbers.start_indices_batching_dims.push_back(place(i));
  }
  for (const int64_t one : outer) mapping.push_back(place(one));
  Instruction* index = builder.Binary(
      Opcode::kRemainder,
      builder.Binary(Opcode::kAdd,
                     builder.Iota(ElementType::kS32, sizes, place(dimension)),
                     builder.BroadcastInDim(start, sizes, mapping)),
      builder.Broadcast(
          builder.Constant(ElementType::kS32, static_cast<double>(size)),
          sizes));
  return builder.Add(Opcode::kGather, value->shape, {value, index},
                     std::move(attributes));
}

Instruction* First(Instruction* values, LocalBuilder& builder) {
  const int64_t last = values->shape.rank() - 1;
  std::vector<int64_t> sizes = values->shape.dimensions;
  sizes.pop_back();
  return builder.Reshape(builder.Slice(values, last, 0, 1), std::move(sizes));
}

// The groups of this device, in its rows.
GroupBounds LocalGroups(const LocalOp& op, const LocalDot& dot, int32_t ragged,
                        int32_t group, LocalBuilder& builder) {
  GroupBounds bounds = BoundsOf(dot.operands[2], builder);
  if (op.IsSplit(ragged)) {
    bounds = WithinBlock(bounds, BlockStart(op, ragged, builder),
                         dot.operands[0]->shape.dimensions[dot.numbers.ragged],
                         builder);
  }
  if (group >= 0 && op.IsSplit(group)) {
    const int64_t count =
        LocalFactorSize(op.rule, op.strategy, group, builder.mesh());
    bounds = TakeGroups(bounds, BlockStart(op, group, builder), count,
                        count * builder.mesh().Size(op.axes(group)), builder);
  }
  return bounds;
}

// Where the rows of other groups were made, zeros; all in their place. `outer`:
// dimensions of the result.
Instruction* PutBack(Instruction* result, int64_t ragged, Instruction* first,
                     const std::vector<int64_t>& outer,
                     const GroupBounds& bounds, LocalBuilder& builder) {
  const std::vector<int64_t> sizes = result->shape.dimensions;
  Instruction* rows = builder.Broadcast(
      builder.Constant(ElementType::kS32, static_cast<double>(sizes[ragged])),
      first->shape.dimensions);
  result =
      Rotate(result, ragged, builder.Binary(Opcode::kSubtract, rows, first),
             outer, builder);
  Instruction* last = builder.Reduce(Reduction::kMax, bounds.end,
                                     {bounds.end->shape.rank() - 1});
  Instruction* index = builder.Iota(ElementType::kS32, sizes, ragged);
  Instruction* mine = builder.Binary(
      Opcode::kAnd,
      builder.Compare("GE", index, builder.BroadcastInDim(first, sizes, outer)),
      builder.Compare("LT", index, builder.BroadcastInDim(last, sizes, outer)));
  Instruction* zero = builder.Constant(result->shape.element_type, 0);
  return builder.Select(mine, result, builder.Broadcast(zero, sizes));
}

// Removes the dimension from those.
void Drop(std::vector<int64_t>& dimensions, int64_t dropped) {
  std::erase(dimensions, dropped);
  for (int64_t& dimension : dimensions) dimension -= dimension > dropped;
}

Instruction* WithoutDimension(Instruction* value, int64_t dimension,
                              LocalBuilder& builder) {
  std::vector<int64_t> sizes = value->shape.dimensions;
  sizes.erase(sizes.begin() + dimension);
  return builder.Reshape(value, std::move(sizes));
}

// Whether the sizes differ along one dimension, which has one element here.
bool IsOneOfMany(const LocalDot& dot) {
  const RaggedDotNumbers& numbers = dot.numbers;
  return numbers.outer.size() == 1 &&
         dot.operands[0]->shape.dimensions[numbers.outer[0]] == 1 &&
         std::ranges::find(numbers.dot.lhs_batch, numbers.outer[0]) ==
             numbers.dot.lhs_batch.end();
}

// Removes that dimension.
void TakeTheOne(LocalDot& dot, LocalBuilder& builder) {
  RaggedDotNumbers& numbers = dot.numbers;
  const int64_t outer = numbers.outer[0];
  std::vector<int64_t>& contracting = numbers.dot.lhs_contracting;
  if (std::ranges::find(contracting, outer) != contracting.end()) {
    const int64_t paired = dot.RightDimension(outer);
    Drop(numbers.dot.rhs_contracting, paired);
    Drop(numbers.dot.rhs_batch, paired);
    dot.operands[1] = WithoutDimension(dot.operands[1], paired, builder);
  } else {
    std::vector<int64_t>& sizes = dot.shape.dimensions;
    sizes.erase(sizes.begin() + dot.ResultDimension(outer));
  }
  Drop(contracting, outer);
  Drop(numbers.dot.lhs_batch, outer);
  Drop(numbers.lhs_free, outer);
  numbers.outer.clear();
  numbers.ragged -= numbers.ragged > outer;
  dot.operands[0] = WithoutDimension(dot.operands[0], outer, builder);
  dot.operands[2] = WithoutDimension(dot.operands[2], 0, builder);
}

Instruction* Multiply(const LocalOp& op, const LocalDot& dot,
                      LocalBuilder& builder) {
  Instruction* product = builder.Clone(op.instruction, dot.shape, dot.operands);
  SetRaggedDotNumbers(dot.numbers, *product);
  return product;
}

// Of the groups of this device.
Instruction* MultiplyByGroup(const LocalOp& op, LocalDot dot,
                             const GroupBounds& bounds, LocalBuilder& builder) {
  const RaggedDotNumbers& numbers = dot.numbers;
  const bool contracts = numbers.kind == Ragged::kContracted;
  Instruction* first = First(bounds.start, builder);
  dot.operands[0] =
      Rotate(dot.operands[0], numbers.ragged, first, numbers.outer, builder);
  std::vector<int64_t> outer;
  for (const int64_t one : numbers.outer) {
    outer.push_back(contracts ? dot.RightDimension(one)
                              : dot.ResultDimension(one));
  }
  if (contracts) {
    dot.operands[1] =
        Rotate(dot.operands[1], dot.RightDimension(numbers.ragged), first,
               outer, builder);
    return Multiply(op, dot, builder);
  }
  return PutBack(Multiply(op, dot, builder),
                 dot.ResultDimension(numbers.ragged), first, outer, bounds,
                 builder);
}

}  // namespace

std::optional<Rule> RaggedDotFactors(const Instruction& instruction) {
  const absl::StatusOr<RaggedDotNumbers> found =
      RaggedDotNumbersOf(instruction);
  if (!found.ok()) return std::nullopt;
  const RaggedDotNumbers& numbers = *found;
  const Shape& lhs = instruction.operand_shape(0);
  const Shape& rhs = instruction.operand_shape(1);
  Rule rule;
  RaggedFactors factors{.lhs = std::vector<int32_t>(lhs.rank()),
                        .rhs = std::vector<int32_t>(rhs.rank())};
  const auto add = [&](int64_t size, FactorKind kind) {
    const int32_t factor = rule.AddFactor(size, kind);
    rule.factors[factor].may_pad = rule.factors[factor].may_divide = true;
    return factor;
  };
  TensorFactors result;
  for (size_t i = 0; i < numbers.dot.lhs_batch.size(); ++i) {
    const int64_t dim = numbers.dot.lhs_batch[i];
    const int32_t factor = add(lhs.dimensions[dim], FactorKind::kKept);
    factors.lhs[dim] = factors.rhs[numbers.dot.rhs_batch[i]] = factor;
    result.push_back({factor});
  }
  for (size_t i = 0; i < numbers.dot.lhs_contracting.size(); ++i) {
    const int64_t dim = numbers.dot.lhs_contracting[i];
    factors.lhs[dim] = factors.rhs[numbers.dot.rhs_contracting[i]] =
        add(lhs.dimensions[dim], FactorKind::kReduced);
  }
  for (const int64_t dim : numbers.lhs_free) {
    factors.lhs[dim] = add(lhs.dimensions[dim], FactorKind::kKept);
    result.push_back({factors.lhs[dim]});
  }
  for (const int64_t dim : numbers.rhs_free) {
    factors.rhs[dim] = add(rhs.dimensions[dim], FactorKind::kKept);
    result.push_back({factors.rhs[dim]});
  }
  rule.factors[factors.ragged(numbers)].may_divide = false;
  const int64_t groups = instruction.operand_shape(2).dimensions.back();
  if (numbers.kind != Ragged::kBatch) {
    factors.group =
        add(groups, numbers.kind == Ragged::kFree ? FactorKind::kReduced
                                                  : FactorKind::kKept);
    rule.factors[factors.group].may_divide = false;
  }
  if (numbers.kind == Ragged::kFree) {
    factors.rhs[numbers.rhs_group] = factors.group;
  } else if (numbers.kind == Ragged::kContracted) {
    result.insert(result.begin(), {factors.group});
  }
  TensorFactors sizes;
  for (const int64_t dim : numbers.outer) {
    Factor& factor = rule.factors[factors.lhs[dim]];
    factor.may_pad = factor.may_divide = false;  // No sizes there.
    sizes.push_back({factors.lhs[dim]});
  }
  sizes.push_back({rule.AddFactor(groups, FactorKind::kWhole)});
  rule.operands = {AsTensor(factors.lhs), AsTensor(factors.rhs),
                   std::move(sizes)};
  rule.results = {std::move(result)};
  rule.linear = {{Reduction::kSum, {0}}, {Reduction::kSum, {1}}};
  return rule;
}

LocalValues LowerRaggedDot(const LocalOp& op, LocalBuilder& builder) {
  LocalDot dot{.numbers = RaggedDotNumbersOf(op.instruction).value(),
               .operands = MaskReduced(op, builder),
               .shape = LocalResultShape(op, 0, builder)};
  const RaggedFactors factors = RaggedFactorsOf(op, dot.numbers);
  const int32_t ragged = factors.ragged(dot.numbers);
  const bool by_group = factors.group >= 0 && op.IsSplit(factors.group);
  if (IsOneOfMany(dot)) TakeTheOne(dot, builder);
  Instruction* product = nullptr;
  if (by_group || op.IsSplit(ragged)) {
    const GroupBounds bounds =
        LocalGroups(op, dot, ragged, factors.group, builder);
    dot.operands[2] = builder.Convert(
        op.operands[2]->shape.element_type,
        builder.Binary(Opcode::kSubtract, bounds.end, bounds.start));
    product = by_group ? MultiplyByGroup(op, dot, bounds, builder)
                       : Multiply(op, dot, builder);
  } else {
    product = Multiply(op, dot, builder);
  }
  const std::vector<int64_t> sizes =
      LocalResultShape(op, 0, builder).dimensions;
  if (product->shape.dimensions == sizes) return {product};
  return {builder.Reshape(product, sizes)};
}

}  // namespace meshwright
