// pad: as slice, from the other side. A part of 3 x 256 is a factor, and so is
// a multiple of 4 spread out by 4; everything else is exchanged.
#include <algorithm>

#include "meshwright/rules/exchange.h"
#include "meshwright/rules/families.h"

namespace meshwright {
namespace {

bool IsPlain(const PaddingDimension& padding) {
  return padding.edge_low == 0 && padding.edge_high == 0 &&
         padding.interior == 0;
}

void AddPadded(const PaddingDimension& padding, int64_t from_size,
               int64_t to_size, ElementType type, Rule& rule, DimFactors& from,
               DimFactors& to) {
  const int64_t step = padding.interior + 1;
  if (from_size == to_size && step == 1) {
    from = to = {rule.AddFactor(from_size, IsPlain(padding)
                                               ? FactorKind::kKept
                                               : FactorKind::kExchanged)};
    rule.factors[from[0]].may_pad = true;
    return;
  }
  const bool is_part = step == 1 && from_size > 0 && padding.edge_low >= 0 &&
                       padding.edge_high >= 0 && to_size % from_size == 0 &&
                       padding.edge_low % from_size == 0;
  const bool is_digit = step > 1 && to_size == from_size * step &&
                        padding.edge_low >= 0 && padding.edge_low < step;
  if (is_part || is_digit) {
    const int32_t kept = rule.AddFactor(from_size);
    const int32_t places =
        rule.AddFactor(to_size / from_size, FactorKind::kWhole);
    from = {kept};
    to = is_part ? DimFactors{places, kept} : DimFactors{kept, places};
    return;
  }
  from = {rule.AddFactor(from_size, FactorKind::kWhole)};
  to = {rule.AddFactor(to_size, FactorKind::kWhole)};
  const std::optional<Reduction> reduction = JoiningReduction(type);
  if (step == 1 && reduction.has_value()) {
    // Each device gives what it has, zeros elsewhere.
    rule.factors[from[0]] = {.size = from_size,
                             .kind = FactorKind::kReduced,
                             .reduction = *reduction,
                             .may_pad = true};
  }
}

Instruction* PadAll(Instruction* value, Instruction* fill,
                    std::vector<PaddingDimension> dimensions,
                    LocalBuilder& builder) {
  if (std::all_of(dimensions.begin(), dimensions.end(), IsPlain)) return value;
  Shape shape =
      Shape::Array(value->shape.element_type, value->shape.dimensions);
  for (size_t i = 0; i < dimensions.size(); ++i) {
    int64_t& size = shape.dimensions[i];
    size += dimensions[i].edge_low + dimensions[i].edge_high +
            std::max<int64_t>(size - 1, 0) * dimensions[i].interior;
  }
  Attributes attributes;
  attributes.padding.emplace();
  attributes.padding->dimensions = std::move(dimensions);
  return builder.Add(Opcode::kPad, std::move(shape), {value, fill},
                     std::move(attributes));
}

Instruction* PadOne(Instruction* value, Instruction* fill, int64_t dimension,
                    PaddingDimension padding, LocalBuilder& builder) {
  std::vector<PaddingDimension> dimensions(value->shape.rank());
  dimensions[dimension] = std::move(padding);
  return PadAll(value, fill, std::move(dimensions), builder);
}

// Where in the local result the operand's elements lie, modulo the step: the
// same on every device, or -1.
int64_t CommonOffset(const ElementLists& needed, int64_t low, int64_t step) {
  if (needed[0].size() % step != 0) return -1;
  for (int64_t offset = 0; offset < step; ++offset) {
    bool common = true;
    for (const std::vector<int64_t>& list : needed) {
      for (size_t i = 0; i < list.size(); ++i) {
        const bool here = static_cast<int64_t>(i) % step == offset;
        common =
            common && (list[i] < 0 || ((list[i] - low) % step == 0) == here);
      }
    }
    if (common) return offset;
  }
  return -1;
}

// Exchanges the operand's elements, then spreads them out.
Instruction* SpreadLast(Movement movement, const PaddingDimension& padding,
                        int64_t size, int64_t offset, Instruction* value,
                        Instruction* fill, LocalBuilder& builder) {
  const int64_t step = padding.interior + 1;
  for (std::vector<int64_t>& list : movement.needed) {
    std::vector<int64_t> sampled;
    for (size_t i = offset; i < list.size(); i += step) {
      const int64_t from = (list[i] - padding.edge_low) / step;
      const bool inside = list[i] >= padding.edge_low && from < size;
      sampled.push_back(list[i] < 0 ? kAnything : inside ? from : kFilled);
    }
    list = std::move(sampled);
  }
  value = Exchange(movement, value, fill, builder);
  return PadOne(value, fill, movement.dimension,
                {.edge_low = offset,
                 .edge_high = step - 1 - offset,
                 .interior = padding.interior},
                builder);
}

// Spreads the local elements out, each with the fill after it, then exchanges.
Instruction* SpreadFirst(Movement movement, const PaddingDimension& padding,
                         int64_t size, Instruction* value, Instruction* fill,
                         LocalBuilder& builder) {
  const int64_t step = padding.interior + 1;
  value =
      PadOne(value, fill, movement.dimension,
             {.edge_high = step - 1, .interior = padding.interior}, builder);
  for (std::vector<int64_t>& list : movement.held) {
    std::vector<int64_t> spread;
    for (const int64_t index : list) {
      for (int64_t i = 0; i < step; ++i) {
        spread.push_back(index < 0 ? kAnything : index * step + i);
      }
    }
    list = std::move(spread);
  }
  for (std::vector<int64_t>& list : movement.needed) {
    for (int64_t& index : list) {
      if (index < 0) continue;
      index -= padding.edge_low;
      if (index < 0 || index >= size * step) index = kFilled;
    }
  }
  return Exchange(movement, value, fill, builder);
}

// Zeros where other devices have the data, `fill` in the padding.
Instruction* GiveOwn(Movement movement, const PaddingDimension& padding,
                     int64_t size, Instruction* value, Instruction* fill,
                     LocalBuilder& builder) {
  for (std::vector<int64_t>& list : movement.needed) {
    for (int64_t& index : list) {
      index -= padding.edge_low;
      if (index < 0 || index >= size) index = kFilled;
    }
  }
  KeepOwn(movement);
  value = Exchange(movement, value, nullptr, builder);
  if (LocalBuilder::IsIdentity(*fill, Reduction::kSum)) return value;
  std::vector<int64_t> inside = value->shape.dimensions;
  inside[movement.dimension] = size;
  Instruction* is_padding =
      PadOne(builder.Broadcast(builder.Constant(ElementType::kPred, 0), inside),
             builder.Constant(ElementType::kPred, 1), movement.dimension,
             padding, builder);
  return builder.Select(
      is_padding, builder.Broadcast(fill, value->shape.dimensions), value);
}

}  // namespace

std::optional<Rule> PadFactors(const Instruction& instruction) {
  const Shape& from = instruction.operand_shape(0);
  Rule rule;
  rule.operands.resize(2);
  rule.results.resize(1);
  rule.operands[0].resize(from.rank());
  rule.results[0].resize(from.rank());
  for (int64_t i = 0; i < from.rank(); ++i) {
    AddPadded(instruction.attributes->padding->dimensions[i],
              from.dimensions[i], instruction.shape.dimensions[i],
              from.element_type, rule, rule.operands[0][i], rule.results[0][i]);
  }
  rule.linear = {{std::nullopt, {0, 1}}};
  return rule;
}

std::optional<Rule> ShiftedPadFactors(const Instruction& instruction) {
  const Shape& from = instruction.operand_shape(0);
  Rule rule = PointwiseRule(from.dimensions, 1);
  rule.operands.emplace_back();  // The fill is a scalar.
  bool any = false;
  for (int64_t i = 0; i < from.rank(); ++i) {
    if (IsPlain(instruction.attributes->padding->dimensions[i])) continue;
    any = true;
    const int32_t factor = rule.operands[0][i][0];
    rule.factors[factor] = {.size = from.dimensions[i],
                            .kind = FactorKind::kExchanged,
                            .may_pad = true};
    rule.results[0][i] = {
        AddShifted(instruction.shape.dimensions[i], factor, rule)};
  }
  if (!any) return std::nullopt;
  rule.linear = {{std::nullopt, {0, 1}}};
  return rule;
}

LocalValues LowerPad(const LocalOp& op, LocalBuilder& builder) {
  const Mesh& mesh = builder.mesh();
  const Shape& shape = op.instruction.operand_shape(0);
  const Sharding from = OperandSharding(op.rule, op.strategy, 0, mesh);
  const Sharding to = ResultSharding(op.rule, op.strategy, 0, mesh);
  Instruction* value = op.operands[0];
  Instruction* fill = op.operands[1];
  AxisList giving;  // Axes over which devices give their own elements only.
  std::vector<PaddingDimension> rest =
      op.instruction.attributes->padding->dimensions;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    const PaddingDimension padding = rest[i];
    if (IsPlain(padding) || !IsSplitDimension(op, i)) continue;
    rest[i] = {};
    const int64_t size = shape.dimensions[i];
    Movement movement = {.dimension = i,
                         .axes = AxesOf(from.dims[i]),
                         .held = ElementsOf(from.dims[i], mesh),
                         .needed = ElementsOf(to.dims[i], mesh)};
    const int32_t factor = op.rule.operands[0][i][0];
    if (op.rule.factors[factor].kind == FactorKind::kReduced) {
      // The padding is given by one device of all that give.
      giving.Append(movement.axes);
      fill =
          LocalBuilder::IsIdentity(*op.operands[1], Reduction::kSum)
              ? op.operands[1]
              : builder.Select(builder.IsLeader(giving), op.operands[1],
                               builder.Constant(value->shape.element_type, 0));
      value = GiveOwn(std::move(movement), padding, size, value, fill, builder);
      continue;
    }
    const int64_t offset =
        CommonOffset(movement.needed, padding.edge_low, padding.interior + 1);
    value = offset >= 0 ? SpreadLast(std::move(movement), padding, size, offset,
                                     value, fill, builder)
                        : SpreadFirst(std::move(movement), padding, size, value,
                                      fill, builder);
  }
  return {PadAll(value, fill, std::move(rest), builder)};
}

}  // namespace meshwright
