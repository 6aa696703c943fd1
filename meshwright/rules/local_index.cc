#include "meshwright/rules/local_index.h"

namespace meshwright {
namespace {

// `value` in all elements of an array like `like`.
Instruction* Filled(const Instruction* like, int64_t value,
                    LocalBuilder& builder) {
  return builder.Broadcast(
      builder.Constant(like->shape.element_type, static_cast<double>(value)),
      like->shape.dimensions);
}

}  // namespace

Reduction MaskedReduction(ElementType type) {
  return type == ElementType::kPred ? Reduction::kOr : Reduction::kSum;
}

Instruction* ClampIndex(Instruction* index, int64_t largest,
                        LocalBuilder& builder) {
  // Wide types are clamped first and narrow ones last, so that neither loses
  // anything.
  if (BitWidth(index->shape.element_type) < 32) {
    index = builder.Convert(ElementType::kS32, index);
  }
  index =
      builder.Binary(Opcode::kMinimum, index, Filled(index, largest, builder));
  if (IsSignedInteger(index->shape.element_type)) {
    index = builder.Binary(Opcode::kMaximum, index, Filled(index, 0, builder));
  }
  return builder.Convert(ElementType::kS32, index);
}

Instruction* BlockStart(const LocalOp& op, int32_t factor,
                        LocalBuilder& builder) {
  const int64_t size =
      LocalFactorSize(op.rule, op.strategy, factor, builder.mesh());
  return builder.Binary(
      Opcode::kMultiply, builder.AxisIndex(op.axes(factor)),
      builder.Constant(ElementType::kS32, static_cast<double>(size)));
}

Instruction* RelativeToBlock(const LocalOp& op, int32_t factor,
                             Instruction* index, LocalBuilder& builder) {
  Instruction* start = builder.Convert(index->shape.element_type,
                                       BlockStart(op, factor, builder));
  return builder.Binary(Opcode::kSubtract, index,
                        builder.Broadcast(start, index->shape.dimensions));
}

Instruction* IsWithin(Instruction* index, int64_t bound,
                      LocalBuilder& builder) {
  return builder.Binary(
      Opcode::kAnd, builder.Compare("GE", index, Filled(index, 0, builder)),
      builder.Compare("LT", index, Filled(index, bound, builder)));
}

}  // namespace meshwright
