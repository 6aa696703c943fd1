// scatter. Window dimensions written whole and batching dimensions are kept.
// Indexed dimensions of the operand are kept too: each device writes what falls
// into its block, and scatter itself drops the rest. Split updates leave each
// device with a partial value, if the combiner allows; the operand counts once.
#include "meshwright/rules/families.h"
#include "meshwright/rules/index_vectors.h"
#include "meshwright/rules/local_index.h"

namespace meshwright {
namespace {

int32_t ScatterInputs(const Instruction& scatter) {
  return static_cast<int32_t>((scatter.operands.size() - 1) / 2);
}

// Says for each dimension of the operand where it comes from.
struct ScatterDimensions {
  explicit ScatterDimensions(const Instruction& scatter)
      : numbers(*scatter.attributes->scatter),
        vector_dimension(numbers.index_vector_dim),
        updates(scatter.operand_shape(ScatterInputs(scatter) + 1)),
        batch(Others(updates.rank(), numbers.update_window_dims)) {
    const int64_t rank = scatter.operand_shape(0).rank();
    window_of.assign(rank, -1);
    component_of.assign(rank, -1);
    size_t next = 0;
    for (int64_t i = 0; i < rank; ++i) {
      if (!Contains(numbers.inserted_window_dims, i) &&
          !Contains(numbers.input_batching_dims, i)) {
        window_of[i] = numbers.update_window_dims[next++];
      }
    }
    for (size_t i = 0; i < numbers.scatter_dims_to_operand_dims.size(); ++i) {
      component_of[numbers.scatter_dims_to_operand_dims[i]] =
          static_cast<int64_t>(i);
    }
  }

  const ScatterDimensionNumbers& numbers;
  int64_t vector_dimension;
  const Shape& updates;
  std::vector<int64_t> batch;         // Dimensions of the updates.
  std::vector<int64_t> window_of;     // Dimension of the updates, or -1.
  std::vector<int64_t> component_of;  // Of the index vectors, or -1.
};

// Whether the combiner puts the update in place of the element.
bool Overwrites(const Computation& combiner) {
  const Instruction* root = combiner.root();
  return root->opcode == Opcode::kParameter &&
         root->attributes->parameter_number == 1;
}

// Factors of the index vectors' arrangement, in indices and updates.
void AddIndexFactors(const Instruction& scatter,
                     const ScatterDimensions& dimensions,
                     std::optional<Reduction> reduction, TensorFactors& indices,
                     TensorFactors& updates, Rule& rule) {
  const Shape& shape = scatter.operand_shape(ScatterInputs(scatter));
  size_t next = 0;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    const int32_t number = rule.AddFactor(shape.dimensions[i]);
    Factor& factor = rule.factors[number];
    indices.push_back({number});
    if (i == dimensions.vector_dimension) {
      factor.kind = FactorKind::kWhole;
      continue;
    }
    updates[dimensions.batch[next++]] = {number};
    factor.may_pad = true;
    if (Contains(dimensions.numbers.scatter_indices_batching_dims, i)) {
      factor.kind = FactorKind::kKept;
    } else if (reduction.has_value()) {
      factor.kind = FactorKind::kReduced;
      factor.reduction = *reduction;
    } else {
      factor.kind = FactorKind::kWhole;
    }
  }
}

// The factor of operand dimension `i`; that of the updates is set.
int32_t AddOperandFactor(const Instruction& scatter,
                         const ScatterDimensions& dimensions, int64_t i,
                         const TensorFactors& indices, TensorFactors& updates,
                         Rule& rule) {
  const std::vector<int64_t>& batching = dimensions.numbers.input_batching_dims;
  for (size_t j = 0; j < batching.size(); ++j) {
    if (batching[j] == i) {
      return indices[dimensions.numbers.scatter_indices_batching_dims[j]][0];
    }
  }
  const int64_t size = scatter.operand_shape(0).dimensions[i];
  const int64_t window = dimensions.window_of[i];
  const int64_t written =
      window < 0 ? 1 : dimensions.updates.dimensions[window];
  const int32_t number = rule.AddFactor(size);
  rule.factors[number].may_pad = true;
  if (window >= 0 && written == size) {
    updates[window] = {number};
    return number;
  }
  if (written != 1) rule.factors[number].kind = FactorKind::kWhole;
  if (window >= 0) {
    updates[window] = {rule.AddFactor(written, FactorKind::kWhole)};
  }
  return number;
}

bool HasPaddedUpdates(const LocalOp& op, const Mesh& mesh) {
  for (size_t i = 0; i < op.rule.factors.size(); ++i) {
    const Factor& factor = op.rule.factors[i];
    if (factor.kind == FactorKind::kReduced &&
        factor.size % mesh.Size(op.strategy.factor_axes[i]) != 0) {
      return true;
    }
  }
  return false;
}

// Dimensions of the operand that are split and of which one element is written.
std::vector<int64_t> SplitIndexed(const LocalOp& op,
                                  const ScatterDimensions& dimensions) {
  std::vector<int64_t> indexed;
  const TensorFactors& operand = op.rule.operands[0];
  const TensorFactors& updates = op.rule.operands.back();
  for (int64_t i = 0; i < static_cast<int64_t>(operand.size()); ++i) {
    const int64_t window = dimensions.window_of[i];
    const bool is_whole = window >= 0 && updates[window] == operand[i];
    if (op.IsSplit(operand[i][0]) && !is_whole &&
        !Contains(dimensions.numbers.input_batching_dims, i)) {
      indexed.push_back(i);
    }
  }
  return indexed;
}

// The indices as signed integers, so that those before a block are negative;
// those of padding point outside.
Instruction* SignedIndices(const LocalOp& op, LocalBuilder& builder) {
  const int32_t inputs = ScatterInputs(op.instruction);
  Instruction* indices = op.operands[inputs];
  const bool is_wide = BitWidth(indices->shape.element_type) == 64;
  indices =
      builder.Convert(is_wide ? ElementType::kS64 : ElementType::kS32, indices);
  Instruction* outside = builder.Constant(indices->shape.element_type, -1);
  for (int32_t i = 0; i < static_cast<int32_t>(op.rule.factors.size()); ++i) {
    if (op.rule.factors[i].kind != FactorKind::kReduced) continue;
    indices = MaskPadding(op, inputs, i, indices, outside, builder);
  }
  return indices;
}

// One index vector, which stays inside of the operand, and whether it was: XLA
// makes its scatter a dynamic-slice and an update, and folds the slice into one
// that the operand is as if it were not clamped.
struct OneVector {
  Instruction* inside = nullptr;  // pred[]; null if there are several vectors.

  Instruction* Clamp(Instruction* component, int64_t size,
                     LocalBuilder& builder) {
    Require(builder.Reshape(IsWithin(component, size, builder), {}), builder);
    return builder.Convert(component->shape.element_type,
                           ClampIndex(component, size - 1, builder));
  }
  void Require(Instruction* condition, LocalBuilder& builder) {
    inside = inside == nullptr
                 ? condition
                 : builder.Binary(Opcode::kAnd, inside, condition);
  }
};

// The indices relative to this device's block, where scatter drops what lies
// outside.
Instruction* RelativeIndices(const LocalOp& op,
                             const ScatterDimensions& dimensions,
                             const std::vector<int64_t>& indexed,
                             Instruction* indices, OneVector& one,
                             LocalBuilder& builder) {
  LocalValues components =
      Components(indices, dimensions.vector_dimension, builder);
  const bool is_one = ElementCount(components[0]->shape) == 1;
  for (const int64_t i : indexed) {
    const int32_t factor = op.rule.operands[0][i][0];
    const int64_t component = dimensions.component_of[i];
    if (component >= 0) {
      Instruction*& relative = components[component];
      relative = RelativeToBlock(op, factor, relative, builder);
      if (!is_one) continue;
      relative =
          one.Clamp(relative, op.operands[0]->shape.dimensions[i], builder);
      continue;
    }
    // Element 0 is written.
    Instruction* leads = builder.IsLeader(op.axes(factor));
    if (is_one) {
      one.Require(leads, builder);
      continue;
    }
    Instruction* outside = builder.Constant(indices->shape.element_type, -1);
    components[0] = builder.Select(
        leads, components[0],
        builder.Broadcast(outside, components[0]->shape.dimensions));
  }
  return FromComponents(components, indices->shape, dimensions.vector_dimension,
                        builder);
}

// What the operand has where one vector points to.
Instruction* Current(const ScatterDimensionNumbers& numbers,
                     Instruction* operand, Instruction* indices,
                     const Shape& updates, LocalBuilder& builder) {
  Attributes attributes;
  attributes.gather = GatherDimensionNumbers{
      .offset_dims = numbers.update_window_dims,
      .collapsed_slice_dims = numbers.inserted_window_dims,
      .start_index_map = numbers.scatter_dims_to_operand_dims,
      .index_vector_dim = numbers.index_vector_dim,
      .operand_batching_dims = numbers.input_batching_dims,
      .start_indices_batching_dims = numbers.scatter_indices_batching_dims};
  size_t next = 0;
  for (int64_t i = 0; i < operand->shape.rank(); ++i) {
    const bool is_window = !Contains(numbers.inserted_window_dims, i) &&
                           !Contains(numbers.input_batching_dims, i);
    attributes.gather_slice_sizes.push_back(
        is_window ? updates.dimensions[numbers.update_window_dims[next++]] : 1);
  }
  return builder.Add(
      Opcode::kGather,
      Shape::Array(operand->shape.element_type, updates.dimensions),
      {operand, indices}, std::move(attributes));
}

// Scatters one vector's updates if it is inside.
LocalValues ScatterIf(const LocalOp& op, const OneVector& one,
                      Attributes attributes, LocalValues operands,
                      LocalBuilder& builder) {
  const int32_t inputs = ScatterInputs(op.instruction);
  const auto select = [&](Instruction* value, Instruction* otherwise) {
    return builder.Select(
        builder.Broadcast(one.inside, value->shape.dimensions), value,
        otherwise);
  };
  const Computation& combiner = *op.instruction.called[0];
  const std::optional<Reduction> reduction = ReductionOf(combiner);
  if (inputs == 1 && (reduction.has_value() || Overwrites(combiner))) {
    Instruction*& updates = operands[2];
    Instruction* nothing =
        reduction.has_value()
            ? builder.Broadcast(
                  builder.Identity(*reduction, updates->shape.element_type),
                  updates->shape.dimensions)
            : Current(*attributes.scatter, operands[0], operands[1],
                      updates->shape, builder);
    updates = select(updates, nothing);
    return LowerWith(op, std::move(attributes), std::move(operands), builder);
  }
  LocalValues results = LowerWith(op, std::move(attributes), operands, builder);
  for (int32_t i = 0; i < inputs; ++i) {
    results[i] = select(results[i], operands[i]);
  }
  return results;
}

bool IsFilledWithIdentity(const Instruction& value, Reduction reduction) {
  return value.opcode == Opcode::kBroadcast &&
         LocalBuilder::IsIdentity(*value.operands[0], reduction);
}

// The operands count once: on the first device of the split updates.
void CountOperandsOnce(const LocalOp& op, LocalValues& operands,
                       LocalBuilder& builder) {
  AxisList split;
  Reduction reduction = Reduction::kSum;
  for (size_t i = 0; i < op.rule.factors.size(); ++i) {
    const Factor& factor = op.rule.factors[i];
    if (factor.kind != FactorKind::kReduced) continue;
    split.Append(op.axes(static_cast<int32_t>(i)));
    reduction = factor.reduction;
  }
  if (split.empty()) return;
  for (int32_t i = 0; i < ScatterInputs(op.instruction); ++i) {
    if (IsFilledWithIdentity(*op.instruction.operands[i], reduction)) continue;
    const Shape& shape = operands[i]->shape;
    Instruction* identity = builder.Identity(reduction, shape.element_type);
    operands[i] = builder.Select(builder.IsLeader(split), operands[i],
                                 builder.Broadcast(identity, shape.dimensions));
  }
}

}  // namespace

std::optional<Rule> ScatterFactors(const Instruction& instruction) {
  const ScatterDimensions dimensions(instruction);
  const int32_t inputs = ScatterInputs(instruction);
  if (ElementCount(dimensions.updates) == 0 ||
      VectorSize(instruction.operand_shape(inputs),
                 dimensions.vector_dimension) == 0) {
    return std::nullopt;
  }
  const Computation& combiner = *instruction.called[0];
  const std::optional<Reduction> reduction = ReductionOf(combiner);
  Rule rule;
  TensorFactors operand;
  TensorFactors indices;
  TensorFactors updates(dimensions.updates.rank());
  AddIndexFactors(instruction, dimensions, reduction, indices, updates, rule);
  for (int64_t i = 0; i < instruction.operand_shape(0).rank(); ++i) {
    operand.push_back(
        {AddOperandFactor(instruction, dimensions, i, indices, updates, rule)});
  }
  rule.operands.assign(inputs, operand);
  rule.operands.push_back(indices);
  rule.operands.insert(rule.operands.end(), inputs, updates);
  rule.results.assign(inputs, operand);
  const bool is_movement = Overwrites(combiner) && inputs == 1 &&
                           instruction.attributes->unique_indices;
  if (reduction.has_value() || is_movement) {
    Linear linear{reduction, {}};
    for (int32_t i = 0; i < 2 * inputs + 1; ++i) {
      if (i != inputs) linear.operands.push_back(i);
    }
    rule.linear = {std::move(linear)};
  }
  return rule;
}

LocalValues LowerScatter(const LocalOp& op, LocalBuilder& builder) {
  const ScatterDimensions dimensions(op.instruction);
  LocalValues operands = op.operands;
  Attributes attributes = *op.instruction.attributes;
  Instruction*& indices = operands[ScatterInputs(op.instruction)];
  const std::vector<int64_t> indexed = SplitIndexed(op, dimensions);
  const bool is_padded = HasPaddedUpdates(op, builder.mesh());
  if (is_padded || !indexed.empty()) indices = SignedIndices(op, builder);
  if (is_padded) attributes.indices_are_sorted = false;
  OneVector one;
  if (!indexed.empty()) {
    indices = RelativeIndices(op, dimensions, indexed, indices, one, builder);
  }
  CountOperandsOnce(op, operands, builder);
  if (one.inside != nullptr) {
    return ScatterIf(op, one, std::move(attributes), std::move(operands),
                     builder);
  }
  return LowerWith(op, std::move(attributes), std::move(operands), builder);
}

}  // namespace meshwright
