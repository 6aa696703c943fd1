// dynamic-slice and dynamic-update-slice. Dimensions taken whole are kept. Over
// a sliced dimension that is split, each device cuts out (or writes) what its
// block has of the slice: the slice is then zero elsewhere, a partial value.
#include <algorithm>

#include "meshwright/rules/families.h"
#include "meshwright/rules/local_index.h"

namespace meshwright {
namespace {

constexpr ElementType kIndexType = ElementType::kS32;

Instruction* Number(int64_t value, LocalBuilder& builder) {
  return builder.Constant(kIndexType, static_cast<double>(value));
}

// Start indices as one array are an old form.
bool HasScalarStarts(const Instruction& instruction, size_t first) {
  for (size_t i = first; i < instruction.operands.size(); ++i) {
    if (!instruction.operand_shape(i).IsScalar()) return false;
  }
  return instruction.operands.size() ==
         first + instruction.operand_shape(0).dimensions.size();
}

// Where slices of a tensor lie, and which part of them a device has.
class Slices {
 public:
  // `sizes` are the slice's global sizes; operands from `first_start` on are
  // the start indices.
  Slices(const LocalOp& op, const std::vector<int64_t>& sizes,
         size_t first_start, LocalBuilder& builder)
      : op_(op), sizes_(sizes), builder_(builder) {
    for (int64_t i = 0; i < rank(); ++i) any_split_ = any_split_ || IsSplit(i);
    for (int64_t i = 0; i < rank(); ++i) {
      starts_.push_back(LocalStart(i, op.operands[first_start + i]));
      part_starts_.push_back(starts_[i]);
      part_sizes_.push_back(sizes_[i]);
      if (IsWhole(i)) {
        part_sizes_[i] = Local(i);
      } else if (IsSplit(i)) {
        part_sizes_[i] = std::min(sizes_[i], Local(i));
        part_starts_[i] =
            ClampIndex(starts_[i], Local(i) - part_sizes_[i], builder_);
      }
    }
  }

  int64_t rank() const { return static_cast<int64_t>(sizes_.size()); }
  int64_t size(int64_t i) const { return sizes_[i]; }
  // A sliced dimension that is split.
  bool IsSplit(int64_t i) const {
    return !IsWhole(i) && op_.IsSplit(Dimension(i));
  }
  bool any_split() const { return any_split_; }
  // The block's elements nearest to the slice: at least those in both.
  const std::vector<Instruction*>& part_starts() const { return part_starts_; }
  const std::vector<int64_t>& part_sizes() const { return part_sizes_; }
  // s32[]: the place of the part in the slice; may be outside it.
  Instruction* PartOffset(int64_t i) const {
    return builder_.Binary(Opcode::kSubtract, part_starts_[i], starts_[i]);
  }

 private:
  int32_t Dimension(int64_t i) const { return op_.rule.operands[0][i][0]; }
  int64_t Global(int64_t i) const {
    return op_.instruction.operand_shape(0).dimensions[i];
  }
  int64_t Local(int64_t i) const {
    return op_.operands[0]->shape.dimensions[i];
  }
  bool IsWhole(int64_t i) const { return sizes_[i] == Global(i); }

  Instruction* LocalStart(int64_t i, Instruction* start) const {
    const ElementType type =
        any_split_ ? kIndexType : start->shape.element_type;
    if (IsWhole(i)) return builder_.Constant(type, 0);
    if (!any_split_) return start;
    start = ClampIndex(start, Global(i) - sizes_[i], builder_);
    if (!IsSplit(i)) return start;
    return RelativeToBlock(op_, Dimension(i), start, builder_);
  }

  const LocalOp& op_;
  const std::vector<int64_t>& sizes_;
  LocalBuilder& builder_;
  bool any_split_ = false;
  std::vector<Instruction*> starts_;  // Relative to the block.
  std::vector<Instruction*> part_starts_;
  std::vector<int64_t> part_sizes_;
};

Instruction* CutPart(const Slices& slices, Instruction* value,
                     LocalBuilder& builder) {
  Attributes attributes;
  attributes.dynamic_slice_sizes = slices.part_sizes();
  std::vector<Instruction*> operands = {value};
  operands.insert(operands.end(), slices.part_starts().begin(),
                  slices.part_starts().end());
  return builder.Add(
      Opcode::kDynamicSlice,
      Shape::Array(value->shape.element_type, slices.part_sizes()),
      std::move(operands), std::move(attributes));
}

// `value` moved up by `shift` in a dimension of `size`, filled with zeros.
Instruction* Shifted(Instruction* value, int64_t dimension, Instruction* shift,
                     int64_t size, LocalBuilder& builder) {
  Instruction* zero = builder.Constant(value->shape.element_type, 0);
  Instruction* padded = builder.Pad(value, zero, dimension, size, size);
  // Starts beyond the ends fall into the padding.
  return builder.DynamicSlice(
      padded, dimension,
      builder.Binary(Opcode::kSubtract, Number(size, builder), shift), size);
}

}  // namespace

std::optional<Rule> DynamicSliceFactors(const Instruction& instruction) {
  if (!HasScalarStarts(instruction, 1)) return std::nullopt;
  Rule rule = PointwiseRule(instruction.operand_shape(0).dimensions, 1, 1);
  const ElementType type = instruction.shape.element_type;
  for (int64_t i = 0; i < instruction.shape.rank(); ++i) {
    const int64_t size = instruction.shape.dimensions[i];
    Factor& factor = rule.factors[rule.operands[0][i][0]];
    if (size == factor.size) continue;
    factor.kind = FactorKind::kReduced;
    factor.may_divide = false;
    factor.reduction = MaskedReduction(type);
    rule.results[0][i] = {rule.AddFactor(size, FactorKind::kWhole)};
  }
  rule.operands.resize(instruction.operands.size());  // Starts are scalars.
  rule.linear = {{std::nullopt, {0}}};
  return rule;
}

LocalValues LowerDynamicSlice(const LocalOp& op, LocalBuilder& builder) {
  const Slices slices(op, op.instruction.shape.dimensions, 1, builder);
  Instruction* value = CutPart(slices, op.operands[0], builder);
  for (int64_t i = 0; i < slices.rank(); ++i) {
    if (!slices.IsSplit(i)) continue;
    value = Shifted(value, i, slices.PartOffset(i), slices.size(i), builder);
  }
  return {value};
}

std::optional<Rule> DynamicUpdateSliceFactors(const Instruction& instruction) {
  if (!HasScalarStarts(instruction, 2)) return std::nullopt;
  Rule rule = PointwiseRule(instruction.shape.dimensions, 2, 1);
  const Shape& update = instruction.operand_shape(1);
  for (int64_t i = 0; i < update.rank(); ++i) {
    if (update.dimensions[i] == instruction.shape.dimensions[i]) continue;
    rule.factors[rule.results[0][i][0]].may_divide = false;
    rule.operands[1][i] = {
        rule.AddFactor(update.dimensions[i], FactorKind::kWhole)};
  }
  rule.operands.resize(instruction.operands.size());  // Starts are scalars.
  rule.linear = {{std::nullopt, {0, 1}}};
  return rule;
}

LocalValues LowerDynamicUpdateSlice(const LocalOp& op, LocalBuilder& builder) {
  const Slices slices(op, op.instruction.operand_shape(1).dimensions, 2,
                      builder);
  Instruction* update = op.operands[1];
  Instruction* mask = nullptr;
  for (int64_t i = 0; i < slices.rank(); ++i) {
    if (!slices.IsSplit(i)) continue;
    // Element t of the part takes element t + offset of the update, if any.
    const int64_t size = slices.part_sizes()[i];
    Instruction* offset = slices.PartOffset(i);
    update = Shifted(update, i, builder.Unary(Opcode::kNegate, offset), size,
                     builder);
    const std::vector<int64_t>& sizes = slices.part_sizes();
    Instruction* element =
        builder.Binary(Opcode::kAdd, builder.Iota(kIndexType, sizes, i),
                       builder.Broadcast(offset, sizes));
    Instruction* within = IsWithin(element, slices.size(i), builder);
    mask =
        mask == nullptr ? within : builder.Binary(Opcode::kAnd, mask, within);
  }
  if (mask != nullptr) {
    update =
        builder.Select(mask, update, CutPart(slices, op.operands[0], builder));
  }
  LocalValues operands = {op.operands[0], update};
  operands.insert(operands.end(), slices.part_starts().begin(),
                  slices.part_starts().end());
  return LowerWith(op, *op.instruction.attributes, std::move(operands),
                   builder);
}

}  // namespace meshwright
