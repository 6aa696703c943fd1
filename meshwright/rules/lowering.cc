#include "meshwright/rules/lowering.h"

#include <algorithm>
#include <utility>

#include "meshwright/base/check.h"
#include "meshwright/rules/rule_table.h"

namespace meshwright {
namespace {

void Disassemble(Instruction* value, std::vector<Instruction*>& leaves,
                 LocalBuilder& builder) {
  if (!value->shape.IsTuple()) {
    leaves.push_back(value);
    return;
  }
  for (size_t i = 0; i < value->shape.tuple_shapes.size(); ++i) {
    Disassemble(builder.GetTupleElement(value, static_cast<int64_t>(i)), leaves,
                builder);
  }
}

// `shape` with its leaves, in order, replaced by local ones.
Shape Localised(const Shape& shape, const LocalOp& op, int32_t& next,
                const LocalBuilder& builder) {
  if (!shape.IsTuple()) {
    if (!shape.IsArray()) {
      ++next;
      return shape;
    }
    Shape local = LocalResultShape(op, next++, builder);
    // Kernels write as they were told.
    if (op.instruction.opcode == Opcode::kCustomCall) {
      local.layout = shape.layout;
    }
    return local;
  }
  std::vector<Shape> elements;
  for (const Shape& element : shape.tuple_shapes) {
    elements.push_back(Localised(element, op, next, builder));
  }
  return Shape::Tuple(std::move(elements));
}

}  // namespace

Instruction* Assemble(const Shape& shape,
                      const std::vector<Instruction*>& leaves, size_t& next,
                      LocalBuilder& builder) {
  if (!shape.IsTuple()) return leaves[next++];
  std::vector<Instruction*> elements;
  for (const Shape& element : shape.tuple_shapes) {
    elements.push_back(Assemble(element, leaves, next, builder));
  }
  return builder.Tuple(std::move(elements));
}

std::vector<Instruction*> Lower(const LocalOp& op, LocalBuilder& builder) {
  builder.set_source(&op.instruction);
  const Lowering lower = EntryFor(op.instruction.opcode).lower;
  std::vector<Instruction*> results = op.rule.is_fallback || lower == nullptr
                                          ? LowerUnchanged(op, builder)
                                          : lower(op, builder);
  builder.set_source(nullptr);
  return results;
}

std::vector<Instruction*> LowerUnchanged(const LocalOp& op,
                                         LocalBuilder& builder) {
  return LowerWith(op, *op.instruction.attributes, op.operands, builder);
}

std::vector<Instruction*> LowerWith(const LocalOp& op, Attributes attributes,
                                    std::vector<Instruction*> operands,
                                    LocalBuilder& builder) {
  std::vector<Instruction*> assembled;
  size_t next = 0;
  for (const Instruction* operand : op.instruction.operands) {
    assembled.push_back(Assemble(operand->shape, operands, next, builder));
  }
  int32_t leaf = 0;
  Shape shape = Localised(op.instruction.shape, op, leaf, builder);
  Instruction* result =
      builder.Clone(op.instruction, std::move(shape), std::move(assembled));
  if (op.instruction.attributes.has_value()) {
    result->attributes.mutate() = std::move(attributes);
  }
  std::vector<Instruction*> results;
  Disassemble(result, results, builder);
  return results;
}

Shape LocalResultShape(const LocalOp& op, int32_t index,
                       const LocalBuilder& builder) {
  const std::vector<const Shape*> leaves = Leaves(op.instruction.shape);
  return Shape::Array(leaves[index]->element_type,
                      LocalDimensions(op.rule, op.strategy,
                                      op.rule.results[index], builder.mesh()));
}

Instruction* MaskPadding(const LocalOp& op, int32_t operand, int32_t factor,
                         Instruction* value, Instruction* fill,
                         LocalBuilder& builder) {
  const int64_t size = op.rule.factors[factor].size;
  if (size % builder.mesh().Size(op.axes(factor)) == 0) return value;
  const TensorFactors& tensor = op.rule.operands[operand];
  for (size_t i = 0; i < tensor.size(); ++i) {
    if (tensor[i].size() != 1 || tensor[i][0] != factor) continue;
    const std::vector<int64_t> dimensions = value->shape.dimensions;
    return builder.Select(builder.InBounds(dimensions, static_cast<int64_t>(i),
                                           op.axes(factor), size),
                          value, builder.Broadcast(fill, dimensions));
  }
  return value;
}

}  // namespace meshwright
