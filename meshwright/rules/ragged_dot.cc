// ragged-dot: as dot. Along the ragged dimension a shard counts what of each
// group lies in it. Over groups, each device multiplies its own: the rows of
// its first group come first, as the sizes know no beginning, and return to
// their place afterwards; rows of other devices' groups are zero.
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

// Rows from `start` (s32[]) on, then those before.
Instruction* Rotate(Instruction* value, int64_t dimension, Instruction* start,
                    LocalBuilder& builder) {
  const int64_t size = value->shape.dimensions[dimension];
  return builder.DynamicSlice(builder.Concatenate({value, value}, dimension),
                              dimension, start, size);
}

Instruction* First(Instruction* values, LocalBuilder& builder) {
  return builder.Reshape(builder.Slice(values, 0, 0, 1), {});
}

// The groups of this device, in its rows.
GroupBounds LocalGroups(const LocalOp& op, const RaggedDotNumbers& numbers,
                        const RaggedFactors& factors, LocalBuilder& builder) {
  GroupBounds bounds = BoundsOf(op.operands[2], builder);
  const int32_t ragged = factors.ragged(numbers);
  if (op.IsSplit(ragged)) {
    bounds =
        WithinBlock(bounds, BlockStart(op, ragged, builder),
                    op.operands[0]->shape.dimensions[numbers.ragged], builder);
  }
  if (factors.group >= 0 && op.IsSplit(factors.group)) {
    const int64_t count =
        LocalFactorSize(op.rule, op.strategy, factors.group, builder.mesh());
    bounds = TakeGroups(bounds, BlockStart(op, factors.group, builder), count,
                        count * builder.mesh().Size(op.axes(factors.group)),
                        builder);
  }
  return bounds;
}

// Where the rows of other groups were made, zeros; all in their place.
Instruction* PutBack(Instruction* result, int64_t ragged, Instruction* first,
                     const GroupBounds& bounds, LocalBuilder& builder) {
  const std::vector<int64_t> sizes = result->shape.dimensions;
  Instruction* rows =
      builder.Constant(ElementType::kS32, static_cast<double>(sizes[ragged]));
  result = Rotate(result, ragged,
                  builder.Binary(Opcode::kSubtract, rows, first), builder);
  Instruction* last = builder.Reduce(Reduction::kMax, bounds.end, {0});
  Instruction* index = builder.Iota(ElementType::kS32, sizes, ragged);
  Instruction* mine = builder.Binary(
      Opcode::kAnd,
      builder.Compare("GE", index, builder.Broadcast(first, sizes)),
      builder.Compare("LT", index, builder.Broadcast(last, sizes)));
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
bool IsOneOfMany(const LocalOp& op, const RaggedDotNumbers& numbers) {
  return numbers.outer.size() == 1 &&
         op.operands[0]->shape.dimensions[numbers.outer[0]] == 1 &&
         std::ranges::find(numbers.dot.lhs_batch, numbers.outer[0]) ==
             numbers.dot.lhs_batch.end();
}

// Without that dimension.
LocalValues LowerOne(const LocalOp& op, RaggedDotNumbers numbers,
                     LocalValues operands, LocalBuilder& builder) {
  const int64_t outer = numbers.outer[0];
  const Shape local = LocalResultShape(op, 0, builder);
  std::vector<int64_t> sizes = local.dimensions;
  std::vector<int64_t>& contracting = numbers.dot.lhs_contracting;
  const auto pair = std::ranges::find(contracting, outer) - contracting.begin();
  if (pair < std::ssize(contracting)) {
    const int64_t paired = numbers.dot.rhs_contracting[pair];
    Drop(numbers.dot.rhs_contracting, paired);
    Drop(numbers.dot.rhs_batch, paired);
    operands[1] = WithoutDimension(operands[1], paired, builder);
  } else {
    const auto free =
        std::ranges::find(numbers.lhs_free, outer) - numbers.lhs_free.begin();
    sizes.erase(sizes.begin() +
                static_cast<int64_t>(numbers.dot.lhs_batch.size()) + free);
  }
  Drop(contracting, outer);
  Drop(numbers.dot.lhs_batch, outer);
  numbers.ragged -= numbers.ragged > outer;
  operands[0] = WithoutDimension(operands[0], outer, builder);
  operands[2] = WithoutDimension(operands[2], 0, builder);
  Instruction* product = builder.Clone(
      op.instruction, Shape::Array(local.element_type, std::move(sizes)),
      std::move(operands));
  SetRaggedDotNumbers(numbers, *product);
  return {builder.Reshape(product, local.dimensions)};
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
  // One beginning for all rows, or the groups stay together.
  const int64_t groups = instruction.operand_shape(2).dimensions.back();
  FactorKind kind = FactorKind::kWhole;
  if (instruction.operand_shape(2).rank() == 1) {
    kind = numbers.kind == Ragged::kFree ? FactorKind::kReduced
                                         : FactorKind::kKept;
  }
  if (numbers.kind != Ragged::kBatch) {
    factors.group = add(groups, kind);
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
  const RaggedDotNumbers numbers = RaggedDotNumbersOf(op.instruction).value();
  const RaggedFactors factors = RaggedFactorsOf(op, numbers);
  const bool by_group = factors.group >= 0 && op.IsSplit(factors.group);
  LocalValues operands = MaskReduced(op, builder);
  const Attributes& attributes = *op.instruction.attributes;
  if (!by_group && !op.IsSplit(factors.ragged(numbers))) {
    if (IsOneOfMany(op, numbers)) {
      return LowerOne(op, numbers, std::move(operands), builder);
    }
    return LowerWith(op, attributes, std::move(operands), builder);
  }
  const GroupBounds bounds = LocalGroups(op, numbers, factors, builder);
  operands[2] = builder.Convert(
      op.operands[2]->shape.element_type,
      builder.Binary(Opcode::kSubtract, bounds.end, bounds.start));
  if (!by_group) {
    return LowerWith(op, attributes, std::move(operands), builder);
  }
  Instruction* first = First(bounds.start, builder);
  operands[0] = Rotate(operands[0], numbers.ragged, first, builder);
  if (numbers.kind == Ragged::kContracted) {
    for (size_t i = 0; i < numbers.dot.lhs_contracting.size(); ++i) {
      if (numbers.dot.lhs_contracting[i] != numbers.ragged) continue;
      operands[1] =
          Rotate(operands[1], numbers.dot.rhs_contracting[i], first, builder);
    }
    return LowerWith(op, attributes, std::move(operands), builder);
  }
  Instruction* result =
      LowerWith(op, attributes, std::move(operands), builder)[0];
  for (size_t i = 0; i < op.rule.results[0].size(); ++i) {
    if (op.rule.results[0][i][0] != factors.ragged(numbers)) continue;
    result = PutBack(result, static_cast<int64_t>(i), first, bounds, builder);
  }
  return {result};
}

}  // namespace meshwright
