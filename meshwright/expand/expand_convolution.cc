// Convolutions that XLA's algebraic simplifier mistakes for grouped ones.
//
//   f32[3,8] dilated 2x2 by a window of 2x16     a window of 2 over 3 rows that
//                                                are 2 apart, no padding
//
// If a window is larger than its input, the simplifier exchanges the two. It
// then takes a dimension that is dilated by the size of its window, with a
// stride of one less, for groups that an earlier pass has rewritten; if the
// number of rows does not fit that, the compiler ends the process. With one
// more row of padding, whose result is dropped, nothing looks like a group.
#include "meshwright/expand/expansions.h"

namespace meshwright {
namespace {

bool LooksGrouped(const WindowDimension& window, int64_t size) {
  return window.padding_low == 0 && window.padding_high == 0 &&
         !window.window_reversal && window.window_dilation == 1 &&
         window.base_dilation == window.size &&
         window.stride == window.size - 1 && window.size != size;
}

// The first spatial dimension that looks like groups.
std::optional<size_t> GroupedDimension(const Instruction& convolution) {
  const Attributes& attributes = *convolution.attributes;
  if (convolution.opcode != Opcode::kConvolution || !attributes.window ||
      !attributes.convolution || convolution.operands.size() != 2) {
    return std::nullopt;
  }
  const auto& windows = attributes.window->dimensions;
  const auto& spatial = attributes.convolution->input_spatial;
  for (size_t i = 0; i < windows.size() && i < spatial.size(); ++i) {
    const int64_t size = convolution.operand_shape(0).dimensions[spatial[i]];
    if (LooksGrouped(windows[i], size)) return i;
  }
  return std::nullopt;
}

}  // namespace

bool SeemsGrouped(const Instruction& instruction) {
  return GroupedDimension(instruction).has_value();
}

absl::StatusOr<Instruction*> ExpandSeemingGroups(const Instruction& instruction,
                                                 LocalBuilder& builder) {
  const size_t at = *GroupedDimension(instruction);
  const int64_t dimension =
      instruction.attributes->convolution->output_spatial[at];
  const int64_t size = instruction.shape.dimensions[dimension];
  Shape shape = instruction.shape;
  ++shape.dimensions[dimension];
  Instruction* padded =
      builder.Add(Opcode::kConvolution, std::move(shape), instruction.operands);
  padded->attributes = instruction.attributes;
  WindowDimension& window = padded->attributes.mutate().window->dimensions[at];
  window.padding_high = window.stride;
  // Another dimension that looks like groups.
  if (SeemsGrouped(*padded)) {
    absl::StatusOr<Instruction*> other = ExpandSeemingGroups(*padded, builder);
    if (!other.ok()) return other;
    padded = *other;
  }
  return builder.Slice(padded, dimension, 0, size);
}

}  // namespace meshwright
