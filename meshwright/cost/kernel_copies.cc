#include "meshwright/cost/kernel_copies.h"

#include <algorithm>

namespace meshwright {
namespace {

// Whether an array with dimensions in the order of `wanted` is another one in
// memory.
bool Differs(const Shape& shape, const std::vector<int64_t>& wanted) {
  int64_t last = -1;
  for (const int64_t dimension : wanted) {
    if (shape.dimensions[dimension] == 1) continue;
    if (dimension < last) return true;
    last = dimension;
  }
  return false;
}

bool Splits(const Instruction& instruction) {
  return instruction.opcode == Opcode::kAllGather ||
         instruction.opcode == Opcode::kReduceScatter ||
         instruction.opcode == Opcode::kAllToAll;
}

// Through reshapes.
const Instruction& MadeBy(const Instruction& value) {
  const Instruction* at = &value;
  while (at->opcode == Opcode::kReshape || at->opcode == Opcode::kBitcast) {
    at = at->operands[0];
  }
  return *at;
}

}  // namespace

bool SplitsInside(const Instruction& collective, const Shape& operand) {
  const auto& along = collective.attributes->dimensions;
  if (along.empty()) return false;
  const auto& sizes = operand.dimensions;
  return std::any_of(sizes.begin(), sizes.begin() + along[0],
                     [](int64_t size) { return size != 1; });
}

void AddConvolutionCopies(const Instruction& root, Kernel& kernel) {
  const Instruction& convolution = root;
  const auto& numbers = convolution.attributes->convolution;
  if (convolution.opcode != Opcode::kConvolution || !numbers ||
      convolution.operands.size() != 2) {
    return;
  }
  const auto order = [](std::vector<int64_t> first,
                        const std::vector<int64_t>& spatial,
                        std::vector<int64_t> last) {
    first.insert(first.end(), spatial.begin(), spatial.end());
    first.insert(first.end(), last.begin(), last.end());
    return first;
  };
  const auto add = [&](const Shape& shape, const std::vector<int64_t>& wanted) {
    if (!Differs(shape, wanted)) return false;
    kernel.scratch_bytes += ByteSize(shape);
    return true;
  };
  if (add(convolution.operand_shape(0),
          order({numbers->input_batch}, numbers->input_spatial,
                {numbers->input_feature}))) {
    kernel.copied.push_back(0);
  }
  if (add(convolution.operand_shape(1),
          order({}, numbers->kernel_spatial,
                {numbers->kernel_input_feature,
                 numbers->kernel_output_feature})) &&
      kernel.inputs.size() == 2) {
    kernel.copied.push_back(1);
  }
  add(convolution.shape, order({numbers->output_batch}, numbers->output_spatial,
                               {numbers->output_feature}));
}

void AddCollectiveCopies(const Instruction& root, Kernel& kernel) {
  for (size_t i = 0; i < kernel.inputs.size(); ++i) {
    const Instruction& input = *kernel.inputs[i];
    const Instruction& maker = MadeBy(input);
    if (Splits(root)
            ? maker.opcode == Opcode::kDot && SplitsInside(root, input.shape)
            : root.opcode == Opcode::kDot && Splits(maker) &&
                  SplitsInside(maker, maker.operand_shape(0))) {
      kernel.turned.push_back(static_cast<int32_t>(i));
    }
  }
}

}  // namespace meshwright
