// gather. Dimensions taken whole, batching dimensions and the arrangement of
// the index vectors are kept. Over an indexed dimension of which one element is
// taken, each device looks up what its block has and leaves zero elsewhere.
#include "meshwright/rules/families.h"
#include "meshwright/rules/index_vectors.h"
#include "meshwright/rules/local_index.h"

namespace meshwright {
namespace {

// Says for each dimension of the operand where it comes from and goes to.
struct GatherDimensions {
  explicit GatherDimensions(const Instruction& gather)
      : numbers(*gather.attributes->gather),
        vector_dimension(numbers.index_vector_dim),
        batch(Others(gather.shape.rank(), numbers.offset_dims)) {
    const int64_t rank = gather.operand_shape(0).rank();
    offset_of.assign(rank, -1);
    component_of.assign(rank, -1);
    size_t next = 0;
    for (int64_t i = 0; i < rank; ++i) {
      if (!Contains(numbers.collapsed_slice_dims, i) &&
          !Contains(numbers.operand_batching_dims, i)) {
        offset_of[i] = numbers.offset_dims[next++];
      }
    }
    for (size_t i = 0; i < numbers.start_index_map.size(); ++i) {
      component_of[numbers.start_index_map[i]] = static_cast<int64_t>(i);
    }
  }

  const GatherDimensionNumbers& numbers;
  int64_t vector_dimension;
  std::vector<int64_t> batch;         // Result dimensions, as the indices'.
  std::vector<int64_t> offset_of;     // Result dimension, or -1.
  std::vector<int64_t> component_of;  // Of the index vectors, or -1.
};

// Factors of the indices, which are those of the result's batch dimensions.
void AddIndexFactors(const Instruction& gather,
                     const GatherDimensions& dimensions, Rule& rule) {
  size_t next = 0;
  for (int64_t i = 0; i < gather.operand_shape(1).rank(); ++i) {
    const int64_t size = gather.operand_shape(1).dimensions[i];
    if (i == dimensions.vector_dimension) {
      rule.operands[1].push_back({rule.AddFactor(size, FactorKind::kWhole)});
      continue;
    }
    const int32_t factor = rule.AddFactor(size);
    rule.factors[factor].may_pad = true;
    rule.operands[1].push_back({factor});
    rule.results[0][dimensions.batch[next++]] = {factor};
  }
}

// The factor of operand dimension `i`; that of the result is set.
int32_t AddOperandFactor(const Instruction& gather,
                         const GatherDimensions& dimensions, int64_t i,
                         Rule& rule) {
  const std::vector<int64_t>& batching =
      dimensions.numbers.operand_batching_dims;
  for (size_t j = 0; j < batching.size(); ++j) {
    if (batching[j] == i) {
      return rule
          .operands[1][dimensions.numbers.start_indices_batching_dims[j]][0];
    }
  }
  const int64_t size = gather.operand_shape(0).dimensions[i];
  const int64_t taken = gather.attributes->gather_slice_sizes[i];
  const int64_t offset = dimensions.offset_of[i];
  const int32_t number = rule.AddFactor(size);
  rule.factors[number].may_pad = true;
  if (taken == size && offset >= 0) {
    rule.results[0][offset] = {number};
    return number;
  }
  if (taken == 1 && size > 1) {
    rule.factors[number].kind = FactorKind::kReduced;
    rule.factors[number].reduction = MaskedReduction(gather.shape.element_type);
  } else {
    rule.factors[number].kind = FactorKind::kWhole;
  }
  if (offset >= 0) {
    rule.results[0][offset] = {rule.AddFactor(taken, FactorKind::kWhole)};
  }
  return number;
}

bool IsMasked(const LocalOp& op, int32_t factor) {
  return op.IsSplit(factor) &&
         op.rule.factors[factor].kind == FactorKind::kReduced;
}

// Index vectors relative to this device's block.
struct LocalLookup {
  Instruction* indices = nullptr;
  Instruction* found = nullptr;  // Where a vector lies in the block.
};

LocalLookup LookUp(const LocalOp& op, const GatherDimensions& dimensions,
                   LocalBuilder& builder) {
  const Instruction& gather = op.instruction;
  LocalValues components =
      Components(op.operands[1], dimensions.vector_dimension, builder);
  LocalLookup lookup;
  const auto require = [&](Instruction* condition) {
    lookup.found = lookup.found == nullptr
                       ? condition
                       : builder.Binary(Opcode::kAnd, lookup.found, condition);
  };
  for (int64_t i = 0; i < gather.operand_shape(0).rank(); ++i) {
    const int32_t factor = op.rule.operands[0][i][0];
    const int64_t component = dimensions.component_of[i];
    if (component >= 0) {
      // As gather itself would, but with the global size.
      components[component] =
          ClampIndex(components[component],
                     gather.operand_shape(0).dimensions[i] -
                         gather.attributes->gather_slice_sizes[i],
                     builder);
    }
    if (!IsMasked(op, factor)) continue;
    if (component < 0) {
      // Element 0 is taken.
      require(builder.Broadcast(builder.IsLeader(op.axes(factor)),
                                components[0]->shape.dimensions));
      continue;
    }
    components[component] =
        RelativeToBlock(op, factor, components[component], builder);
    require(
        IsWithin(components[component],
                 LocalFactorSize(op.rule, op.strategy, factor, builder.mesh()),
                 builder));
  }
  lookup.indices = FromComponents(components, op.operands[1]->shape,
                                  dimensions.vector_dimension, builder);
  return lookup;
}

}  // namespace

std::optional<Rule> GatherFactors(const Instruction& instruction) {
  const GatherDimensions dimensions(instruction);
  if (ElementCount(instruction.shape) == 0 ||
      VectorSize(instruction.operand_shape(1), dimensions.vector_dimension) ==
          0) {
    return std::nullopt;
  }
  Rule rule;
  rule.operands.resize(2);
  rule.results.resize(1);
  rule.results[0].resize(instruction.shape.rank());
  AddIndexFactors(instruction, dimensions, rule);
  for (int64_t i = 0; i < instruction.operand_shape(0).rank(); ++i) {
    rule.operands[0].push_back(
        {AddOperandFactor(instruction, dimensions, i, rule)});
  }
  rule.linear = {{std::nullopt, {0}}};
  return rule;
}

LocalValues LowerGather(const LocalOp& op, LocalBuilder& builder) {
  const GatherDimensions dimensions(op.instruction);
  Attributes attributes = *op.instruction.attributes;
  bool masked = false;
  for (size_t i = 0; i < op.rule.operands[0].size(); ++i) {
    const int32_t factor = op.rule.operands[0][i][0];
    masked = masked || IsMasked(op, factor);
    int64_t& taken = attributes.gather_slice_sizes[i];
    if (taken == op.rule.factors[factor].size) {
      taken = LocalFactorSize(op.rule, op.strategy, factor, builder.mesh());
    }
  }
  if (!masked) {
    return LowerWith(op, std::move(attributes), op.operands, builder);
  }
  const LocalLookup lookup = LookUp(op, dimensions, builder);
  attributes.indices_are_sorted = false;
  Instruction* value = LowerWith(op, std::move(attributes),
                                 {op.operands[0], lookup.indices}, builder)[0];
  const std::vector<int64_t> sizes = value->shape.dimensions;
  Instruction* found =
      builder.BroadcastInDim(lookup.found, sizes, dimensions.batch);
  Instruction* zero = builder.Constant(value->shape.element_type, 0);
  return {builder.Select(found, value, builder.Broadcast(zero, sizes))};
}

}  // namespace meshwright
