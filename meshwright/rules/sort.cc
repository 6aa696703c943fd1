// sort and topk: every dimension but the sorted one is kept.
//
// Over a split dimension topk selects twice: each shard its best k, then the
// best k of all shards' candidates. These come in the order of the shards, and
// topk prefers the earlier of equals, so ties fall as on one device.
#include <algorithm>

#include "meshwright/rules/families.h"

namespace meshwright {
namespace {

// result[..., i] = values[..., positions[..., i]], positions in range.
Instruction* TakeAlongLast(Instruction* values, Instruction* positions,
                           LocalBuilder& builder) {
  const int64_t last = values->shape.rank() - 1;
  std::vector<int64_t> index_dimensions = positions->shape.dimensions;
  index_dimensions.push_back(1);
  Attributes attributes;
  attributes.gather.emplace();
  attributes.gather->collapsed_slice_dims = {last};
  attributes.gather->start_index_map = {last};
  attributes.gather->index_vector_dim = last + 1;
  for (int64_t i = 0; i < last; ++i) {
    attributes.gather->operand_batching_dims.push_back(i);
    attributes.gather->start_indices_batching_dims.push_back(i);
  }
  attributes.gather_slice_sizes.assign(last + 1, 1);
  return builder.Add(
      Opcode::kGather,
      Shape::Array(values->shape.element_type, positions->shape.dimensions),
      {values, builder.Reshape(positions, index_dimensions)},
      std::move(attributes));
}

// The instruction on another array; values and their positions.
std::pair<Instruction*, Instruction*> Select(const LocalOp& op,
                                             Instruction* values, int64_t k,
                                             LocalBuilder& builder) {
  std::vector<int64_t> dimensions = values->shape.dimensions;
  dimensions.back() = k;
  Instruction* both = builder.Clone(
      op.instruction,
      Shape::Tuple({Shape::Array(values->shape.element_type, dimensions),
                    Shape::Array(ElementType::kS32, dimensions)}),
      {values});
  if (op.instruction.opcode == Opcode::kTopk) both->attributes.mutate().k = k;
  return {builder.GetTupleElement(both, 0), builder.GetTupleElement(both, 1)};
}

}  // namespace

std::optional<Rule> SortFactors(const Instruction& instruction) {
  const std::vector<int64_t> dimensions =
      instruction.operand_shape(0).dimensions;
  const int32_t count = static_cast<int32_t>(instruction.operands.size());
  Rule rule = PointwiseRule(dimensions, count, count);
  const int64_t sorted = instruction.attributes->dimensions[0];
  rule.factors[sorted] = {.size = dimensions[sorted],
                          .kind = FactorKind::kWhole};
  return rule;
}

std::optional<Rule> TopKFactors(const Instruction& instruction) {
  const Shape& input = instruction.operand_shape(0);
  const std::vector<const Shape*> results = Leaves(instruction.shape);
  if (instruction.operands.size() != 1 || results.size() != 2 ||
      !input.IsArray() || input.IsScalar() ||
      results[1]->element_type != ElementType::kS32 ||
      results[0]->dimensions != results[1]->dimensions) {
    return std::nullopt;
  }
  const int64_t last = input.rank() - 1;
  Rule rule = PointwiseRule(input.dimensions, 1, 2);
  rule.factors[last] = {.size = input.dimensions[last],
                        .kind = FactorKind::kExchanged};
  const int32_t k =
      rule.AddFactor(results[0]->dimensions[last], FactorKind::kWhole);
  for (TensorFactors& result : rule.results) result[last] = {k};
  return rule;
}

LocalValues LowerTopK(const LocalOp& op, LocalBuilder& builder) {
  const int64_t last = op.instruction.operand_shape(0).rank() - 1;
  const AxisList& axes = op.axes(op.rule.operands[0][last][0]);
  if (axes.empty()) return LowerUnchanged(op, builder);
  const int64_t size = op.operands[0]->shape.dimensions[last];
  const int64_t k = Leaves(op.instruction.shape)[0]->dimensions[last];
  auto [values, indices] =
      Select(op, op.operands[0], std::min(k, size), builder);
  // Positions in this shard become positions in the whole.
  Instruction* start = builder.Binary(
      Opcode::kMultiply, builder.AxisIndex(axes),
      builder.Constant(ElementType::kS32, static_cast<double>(size)));
  indices = builder.Binary(Opcode::kAdd, indices,
                           builder.Broadcast(start, indices->shape.dimensions));
  values = builder.AllGather(values, axes, last);
  indices = builder.AllGather(indices, axes, last);
  const auto [best, positions] = Select(op, values, k, builder);
  return {best, TakeAlongLast(indices, positions, builder)};
}

}  // namespace meshwright
