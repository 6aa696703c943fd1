// Opcodes whose result depends on no array: any split of it is free.
#include <cstring>

#include "meshwright/rules/families.h"

namespace meshwright {
namespace {

// Whether all elements have the same bits.
bool IsSplat(const Literal& literal, size_t element_bytes) {
  const std::string& data = literal.data;
  return data.size() >= element_bytes &&
         std::memcmp(data.data(), data.data() + element_bytes,
                     data.size() - element_bytes) == 0;
}

}  // namespace

std::optional<Rule> SourceFactors(const Instruction& instruction) {
  if (!instruction.shape.IsArray()) return std::nullopt;
  Rule rule = PointwiseRule(instruction.shape.dimensions, 0);
  for (Factor& factor : rule.factors) factor.may_divide = false;
  rule.cheap_to_repeat = true;
  return rule;
}

LocalValues LowerConstant(const LocalOp& op, LocalBuilder& builder) {
  const std::shared_ptr<const Literal>& literal =
      op.instruction.attributes->literal;
  const ElementType type = op.instruction.shape.element_type;
  if (op.instruction.shape.rank() > 0 && literal != nullptr &&
      IsSplat(*literal, HostBytes(type))) {
    return {builder.Broadcast(
        builder.Scalar(type, literal->data.substr(0, HostBytes(type))),
        LocalResultShape(op, 0, builder).dimensions)};
  }
  // The whole constant, cut to this device's block.
  Instruction* value = builder.Clone(op.instruction, op.instruction.shape, {});
  for (int32_t i = 0; i < static_cast<int32_t>(op.rule.results[0].size());
       ++i) {
    const int32_t factor = op.rule.results[0][i][0];
    if (!op.IsSplit(factor)) continue;
    const int64_t size =
        LocalFactorSize(op.rule, op.strategy, factor, builder.mesh());
    const int64_t shards = builder.mesh().Size(op.axes(factor));
    value = builder.Pad(value, builder.Constant(value->shape.element_type, 0),
                        i, 0, size * shards - op.rule.factors[factor].size);
    Instruction* start = builder.Binary(
        Opcode::kMultiply, builder.AxisIndex(op.axes(factor)),
        builder.Constant(ElementType::kS32, static_cast<double>(size)));
    value = builder.DynamicSlice(value, i, start, size);
  }
  return {value};
}

LocalValues LowerIota(const LocalOp& op, LocalBuilder& builder) {
  const int64_t dimension = op.instruction.attributes->dimensions[0];
  const int32_t factor = op.rule.results[0][dimension][0];
  const Shape shape = LocalResultShape(op, 0, builder);
  if (!op.IsSplit(factor)) {
    return {builder.Iota(shape.element_type, shape.dimensions, dimension)};
  }
  // Counted in s32: narrow types lose the offset's low bits.
  const ElementType wide =
      BitWidth(shape.element_type) >= 64 && !IsComplex(shape.element_type)
          ? ElementType::kS64
          : ElementType::kS32;
  Instruction* start = builder.Binary(
      Opcode::kMultiply, builder.AxisIndex(op.axes(factor)),
      builder.Constant(ElementType::kS32,
                       static_cast<double>(shape.dimensions[dimension])));
  Instruction* count = builder.Iota(wide, shape.dimensions, dimension);
  Instruction* offset =
      builder.Broadcast(builder.Convert(wide, start), shape.dimensions);
  return {builder.Convert(shape.element_type,
                          builder.Binary(Opcode::kAdd, count, offset))};
}

}  // namespace meshwright
