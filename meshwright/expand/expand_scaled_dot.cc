#include <utility>

#include "meshwright/expand/expansions.h"
#include "meshwright/hlo/scaled_dot_numbers.h"

namespace meshwright {
namespace {

// Repeats each scale for all elements of its block.
Instruction* Spread(Instruction* scale, const std::vector<int64_t>& sizes,
                    LocalBuilder& builder) {
  // Each dimension as blocks and elements of a block.
  std::vector<int64_t> wide;
  std::vector<int64_t> mapping;  // The dimensions of the blocks.
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t blocks = scale->shape.dimensions[i];
    mapping.push_back(static_cast<int64_t>(wide.size()));
    wide.push_back(blocks);
    wide.push_back(sizes[i] / blocks);
  }
  return builder.Reshape(builder.BroadcastInDim(scale, wide, mapping), sizes);
}

Instruction* Scaled(Instruction* value, Instruction* scale,
                    LocalBuilder& builder) {
  return builder.Binary(Opcode::kMultiply,
                        builder.Convert(ElementType::kF32, value),
                        Spread(builder.Convert(ElementType::kF32, scale),
                               value->shape.dimensions, builder));
}

}  // namespace

absl::StatusOr<Instruction*> ExpandScaledDot(const Instruction& instruction,
                                             LocalBuilder& builder) {
  const std::optional<DotDimensionNumbers> numbers =
      ScaledDotNumbersOf(instruction);
  if (!numbers.has_value()) {
    return absl::UnimplementedError(
        "scales of another form than one for each block cannot run here");
  }
  const auto& operands = instruction.operands;
  Attributes attributes;
  attributes.dot = *numbers;
  Instruction* product =
      builder.Add(Opcode::kDot,
                  Shape::Array(ElementType::kF32, instruction.shape.dimensions),
                  {Scaled(operands[0], operands[2], builder),
                   Scaled(operands[1], operands[3], builder)},
                  std::move(attributes));
  return builder.Convert(instruction.shape.element_type, product);
}

}  // namespace meshwright
