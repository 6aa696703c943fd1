// slice, concatenate, reverse: dimensions they leave alone are split freely.
// Equal parts (a third of 3 x 256, three joined parts of 256) are factors, so a
// split within the part is free too. Everything else is exchanged.
#include <algorithm>

#include "meshwright/rules/exchange.h"
#include "meshwright/rules/families.h"

namespace meshwright {
namespace {

void AddKept(int64_t size, Rule& rule, DimFactors& from, DimFactors& to) {
  const int32_t factor = rule.AddFactor(size);
  rule.factors[factor].may_pad = true;
  rule.factors[factor].may_divide = true;
  from = to = {factor};
}

bool TakesAll(const SliceDimension& slice, int64_t size) {
  return slice.start == 0 && slice.limit == size && slice.stride == 1;
}

// Each device gives what it has of the result, zeros elsewhere.
int32_t AddMasked(int64_t size, ElementType type, Rule& rule) {
  const std::optional<Reduction> reduction = JoiningReduction(type);
  if (!reduction.has_value()) return rule.AddFactor(size, FactorKind::kWhole);
  const int32_t factor = rule.AddFactor(size, FactorKind::kReduced);
  rule.factors[factor].reduction = *reduction;
  rule.factors[factor].may_pad = true;
  return factor;
}

void AddSliced(const SliceDimension& slice, int64_t from_size, int64_t to_size,
               ElementType type, Rule& rule, DimFactors& from, DimFactors& to) {
  const bool is_part = slice.stride == 1 && to_size > 0 &&
                       from_size % to_size == 0 && slice.start % to_size == 0;
  const bool is_digit = slice.stride > 1 &&
                        from_size == to_size * slice.stride &&
                        slice.start < slice.stride;
  if (!is_part && !is_digit) {
    from = {AddMasked(from_size, type, rule)};
    to = {rule.AddFactor(to_size, FactorKind::kWhole)};
    return;
  }
  const int32_t kept = rule.AddFactor(to_size);
  const int32_t chosen = AddMasked(from_size / to_size, type, rule);
  from = is_part ? DimFactors{chosen, kept} : DimFactors{kept, chosen};
  to = {kept};
}

bool HasReduced(const LocalOp& op, const DimFactors& dim) {
  return std::any_of(dim.begin(), dim.end(), [&](int32_t factor) {
    return op.IsSplit(factor) &&
           op.rule.factors[factor].kind == FactorKind::kReduced;
  });
}

// Whether, on every device, the elements of the slice are those whose position
// is `offset` modulo the stride.
bool Samples(const ElementLists& held, const SliceDimension& slice,
             int64_t offset) {
  for (const std::vector<int64_t>& list : held) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i] < 0) continue;
      const bool taken = (list[i] - slice.start) % slice.stride == 0;
      if (taken != (static_cast<int64_t>(i) % slice.stride == offset)) {
        return false;
      }
    }
  }
  return true;
}

// Samples before the exchange where that can be done on every device alike.
// Then `movement` is in elements of the result.
bool SampleFirst(const SliceDimension& slice, Movement& movement,
                 Instruction*& value, LocalBuilder& builder) {
  const int64_t size = value->shape.dimensions[movement.dimension];
  for (int64_t offset = 0; offset < std::min(slice.stride, size); ++offset) {
    if (!Samples(movement.held, slice, offset)) continue;
    value =
        builder.Slice(value, movement.dimension, offset, size, slice.stride);
    for (std::vector<int64_t>& list : movement.held) {
      std::vector<int64_t> sampled;
      for (int64_t i = offset; i < size; i += slice.stride) {
        sampled.push_back(list[i] < slice.start
                              ? kAnything
                              : (list[i] - slice.start) / slice.stride);
      }
      list = std::move(sampled);
    }
    return true;
  }
  return false;
}

// The elements of the operand behind those of the result, and up to the next
// ones.
ElementLists Widened(const ElementLists& lists, const SliceDimension& slice,
                     int64_t size) {
  ElementLists result;
  for (const std::vector<int64_t>& list : lists) {
    std::vector<int64_t>& wide = result.emplace_back();
    for (const int64_t index : list) {
      for (int64_t i = 0; i < slice.stride; ++i) {
        const int64_t from = slice.start + index * slice.stride + i;
        wide.push_back(index < 0 || from >= size ? kAnything : from);
      }
    }
  }
  return result;
}

Instruction* SliceSplit(const LocalOp& op, int64_t dimension,
                        Instruction* value, LocalBuilder& builder) {
  const Mesh& mesh = builder.mesh();
  const SliceDimension& slice = op.instruction.attributes->slice[dimension];
  const DimSharding from =
      OperandSharding(op.rule, op.strategy, 0, mesh).dims[dimension];
  const DimSharding to =
      ResultSharding(op.rule, op.strategy, 0, mesh).dims[dimension];
  Movement movement = {.dimension = dimension,
                       .axes = AxesOf(from),
                       .held = ElementsOf(from, mesh),
                       .needed = ElementsOf(to, mesh)};
  const bool sampled = SampleFirst(slice, movement, value, builder);
  if (!sampled) {
    movement.needed = Widened(movement.needed, slice, GlobalSize(from));
  }
  if (HasReduced(op, op.rule.operands[0][dimension])) KeepOwn(movement);
  value = Exchange(movement, value, nullptr, builder);
  if (sampled) return value;
  return builder.Slice(value, dimension, 0, value->shape.dimensions[dimension],
                       slice.stride);
}

}  // namespace

std::optional<Rule> SliceFactors(const Instruction& instruction) {
  const Shape& from = instruction.operand_shape(0);
  const Shape& to = instruction.shape;
  Rule rule;
  TensorFactors operand(from.rank());
  TensorFactors result(from.rank());
  for (int64_t i = 0; i < from.rank(); ++i) {
    const SliceDimension& slice = instruction.attributes->slice[i];
    if (TakesAll(slice, from.dimensions[i])) {
      AddKept(from.dimensions[i], rule, operand[i], result[i]);
    } else {
      AddSliced(slice, from.dimensions[i], to.dimensions[i], to.element_type,
                rule, operand[i], result[i]);
    }
  }
  rule.operands = {std::move(operand)};
  rule.results = {std::move(result)};
  rule.linear = {{std::nullopt, {0}}};
  return rule;
}

std::optional<Rule> ShiftedSliceFactors(const Instruction& instruction) {
  const Shape& from = instruction.operand_shape(0);
  Rule rule;
  TensorFactors operand(from.rank());
  TensorFactors result(from.rank());
  bool any = false;
  for (int64_t i = 0; i < from.rank(); ++i) {
    if (TakesAll(instruction.attributes->slice[i], from.dimensions[i])) {
      AddKept(from.dimensions[i], rule, operand[i], result[i]);
      continue;
    }
    any = true;
    operand[i] = {AddShifted(from.dimensions[i], -1, rule)};
    result[i] = {
        AddShifted(instruction.shape.dimensions[i], operand[i][0], rule)};
  }
  if (!any) return std::nullopt;
  rule.operands = {std::move(operand)};
  rule.results = {std::move(result)};
  rule.linear = {{std::nullopt, {0}}};
  return rule;
}

LocalValues LowerSlice(const LocalOp& op, LocalBuilder& builder) {
  const Shape& shape = op.instruction.operand_shape(0);
  const std::vector<SliceDimension>& slices = op.instruction.attributes->slice;
  Instruction* value = op.operands[0];
  std::vector<int64_t> split;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (TakesAll(slices[i], shape.dimensions[i])) continue;
    if (IsSplitDimension(op, i)) {
      split.push_back(i);
    } else {
      value = builder.Slice(value, i, slices[i].start, slices[i].limit,
                            slices[i].stride);
    }
  }
  for (const int64_t i : split) value = SliceSplit(op, i, value, builder);
  return {value};
}

std::optional<Rule> ConcatenateFactors(const Instruction& instruction) {
  const int64_t dimension = instruction.attributes->dimensions[0];
  const int64_t count = static_cast<int64_t>(instruction.operands.size());
  const int64_t part = instruction.operand_shape(0).dimensions[dimension];
  bool equal = true;
  Rule rule = PointwiseRule(instruction.shape.dimensions,
                            static_cast<int32_t>(instruction.operands.size()));
  const int32_t joined = rule.results[0][dimension][0];
  rule.factors[joined].kind = FactorKind::kWhole;
  rule.linear = {{std::nullopt, {}}};
  for (int32_t i = 0; i < static_cast<int32_t>(count); ++i) {
    const int64_t size = instruction.operand_shape(i).dimensions[dimension];
    equal = equal && size == part;
    if (count > 1) {
      rule.operands[i][dimension] = {rule.AddFactor(size, FactorKind::kWhole)};
    }
    rule.linear[0].operands.push_back(i);
  }
  if (!equal || count == 1) return rule;
  const int32_t kept = rule.AddFactor(part);
  rule.factors[joined].size = count;
  rule.results[0][dimension].push_back(kept);
  for (TensorFactors& operand : rule.operands) operand[dimension] = {kept};
  return rule;
}

std::optional<Rule> ShiftedConcatenateFactors(const Instruction& instruction) {
  const int64_t dimension = instruction.attributes->dimensions[0];
  const int32_t count = static_cast<int32_t>(instruction.operands.size());
  if (count == 1) return std::nullopt;
  Rule rule = PointwiseRule(instruction.shape.dimensions, count);
  const int32_t joined = rule.results[0][dimension][0];
  rule.factors[joined] = {.size = instruction.shape.dimensions[dimension],
                          .kind = FactorKind::kExchanged,
                          .may_pad = true};
  rule.linear = {{std::nullopt, {}}};
  for (int32_t i = 0; i < count; ++i) {
    rule.operands[i][dimension] = {AddShifted(
        instruction.operand_shape(i).dimensions[dimension], joined, rule)};
    rule.linear[0].operands.push_back(i);
  }
  return rule;
}

LocalValues LowerConcatenate(const LocalOp& op, LocalBuilder& builder) {
  const Mesh& mesh = builder.mesh();
  const int64_t dimension = op.instruction.attributes->dimensions[0];
  Instruction* value = builder.Concatenate(op.operands, dimension);
  Movement movement = {.dimension = dimension};
  movement.held.resize(mesh.device_count());
  int64_t offset = 0;
  for (int32_t i = 0; i < static_cast<int32_t>(op.operands.size()); ++i) {
    const DimSharding from =
        OperandSharding(op.rule, op.strategy, i, mesh).dims[dimension];
    if (movement.axes.empty()) movement.axes = AxesOf(from);
    const ElementLists part = ElementsOf(from, mesh);
    for (size_t device = 0; device < part.size(); ++device) {
      for (const int64_t index : part[device]) {
        movement.held[device].push_back(index < 0 ? kAnything : offset + index);
      }
    }
    offset += GlobalSize(from);
  }
  if (movement.axes.empty()) return {value};
  movement.needed = ElementsOf(
      ResultSharding(op.rule, op.strategy, 0, mesh).dims[dimension], mesh);
  return {Exchange(movement, value, nullptr, builder)};
}

std::optional<Rule> ReverseFactors(const Instruction& instruction) {
  Rule rule = PointwiseRule(instruction.shape.dimensions, 1);
  for (const int64_t dimension : instruction.attributes->dimensions) {
    rule.factors[rule.results[0][dimension][0]].kind = FactorKind::kExchanged;
  }
  rule.linear = {{std::nullopt, {0}}};
  return rule;
}

LocalValues LowerReverse(const LocalOp& op, LocalBuilder& builder) {
  const Mesh& mesh = builder.mesh();
  Instruction* value = LowerUnchanged(op, builder)[0];
  for (const int64_t dimension : op.instruction.attributes->dimensions) {
    if (!IsSplitDimension(op, dimension)) continue;
    const DimSharding dim =
        OperandSharding(op.rule, op.strategy, 0, mesh).dims[dimension];
    Movement movement = {.dimension = dimension,
                         .axes = AxesOf(dim),
                         .held = ElementsOf(dim, mesh),
                         .needed = ElementsOf(dim, mesh)};
    for (std::vector<int64_t>& list : movement.held) {
      std::reverse(list.begin(), list.end());
    }
    for (std::vector<int64_t>& list : movement.needed) {
      for (int64_t& index : list) {
        if (index >= 0) index = GlobalSize(dim) - 1 - index;
      }
    }
    value = Exchange(movement, value, nullptr, builder);
  }
  return {value};
}

}  // namespace meshwright
