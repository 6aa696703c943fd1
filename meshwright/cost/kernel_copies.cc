#include "meshwright/cost/kernel_copies.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "meshwright/hlo/opcode_traits.h"
#include "meshwright/rules/matrix_product.h"

namespace meshwright {
namespace {

// Whether an array with its dimensions in the order `wanted` differs in memory.
bool Differs(const Shape& shape, const std::vector<int64_t>& wanted) {
  int64_t last = -1;
  for (const int64_t dimension : wanted) {
    if (shape.dimensions[dimension] == 1) continue;
    if (dimension < last) return true;
    last = dimension;
  }
  return false;
}

// The producer of a value, looking through reshapes.
const Instruction& MadeBy(const Instruction& value) {
  const Instruction* at = &value;
  while (at->opcode == Opcode::kReshape || at->opcode == Opcode::kBitcast) {
    at = at->operands[0];
  }
  return *at;
}

// Dimensions of more than one element, outermost first.
using Order = std::vector<int64_t>;

Order WithoutOnes(const Shape& shape, const Order& dimensions) {
  Order order;
  for (const int64_t dimension : dimensions) {
    if (shape.dimensions[dimension] != 1) order.push_back(dimension);
  }
  return order;
}

Order AsWritten(const Shape& shape) {
  Order all(shape.dimensions.size());
  std::iota(all.begin(), all.end(), 0);
  return WithoutOnes(shape, all);
}

Order OrderForCollective(const Instruction& collective, const Shape& shape) {
  Order order = AsWritten(shape);
  const auto& along = collective.attributes->dimensions;
  if (along.empty()) return order;
  const auto first = std::find(order.begin(), order.end(), along[0]);
  if (first != order.end()) std::rotate(order.begin(), first, first + 1);
  return order;
}

// Whether the value was produced by a collective that puts another dimension
// first.
bool LiesTurned(const Instruction& value, const FusionStyle& style) {
  const Instruction& maker = MadeBy(value);
  return style.transposes_for_collectives && IsAlongDimension(maker.opcode) &&
         SplitsInside(maker, maker.operand_shape(0));
}

bool Has(const std::vector<int64_t>& dimensions, int64_t dimension) {
  return std::find(dimensions.begin(), dimensions.end(), dimension) !=
         dimensions.end();
}

Order OrderForDot(const Instruction& dot, size_t operand,
                  const FusionStyle& style) {
  const Shape& shape = dot.operand_shape(operand);
  const auto& numbers = dot.attributes->dot;
  if (!style.transposes_for_dots || !numbers || IsMatrixProduct(dot)) {
    return AsWritten(shape);
  }
  const bool left = operand == 0;
  const auto& batch = left ? numbers->lhs_batch : numbers->rhs_batch;
  const auto& contracted =
      left ? numbers->lhs_contracting : numbers->rhs_contracting;
  // Matrices may be read in either order, unless a reshape first removes
  // dimensions of one element.
  if (IsMatrix(shape, batch, contracted) &&
      std::none_of(batch.begin(), batch.end(),
                   [&](int64_t i) { return shape.dimensions[i] == 1; })) {
    return AsWritten(shape);
  }
  Order kept;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (!Has(batch, i) && !Has(contracted, i)) kept.push_back(i);
  }
  Order order = batch;
  const Order& next = left ? kept : contracted;
  const Order& last = left ? contracted : kept;
  order.insert(order.end(), next.begin(), next.end());
  order.insert(order.end(), last.begin(), last.end());
  return WithoutOnes(shape, order);
}

// Whether the innermost dimension with several elements is among these.
bool EndsWith(const Shape& shape, const std::vector<int64_t>& dimensions) {
  const Order order = AsWritten(shape);
  return !order.empty() && Has(dimensions, order.back());
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

void AddTurnedInputs(const Instruction& root, const FusionStyle& style,
                     Kernel& kernel) {
  if (root.opcode == Opcode::kReduce && LiesTurned(*root.operands[0], style)) {
    kernel.turned.push_back({.input = 0, .order = {kForReductions}});
  }
  const bool splits =
      style.transposes_for_collectives && IsAlongDimension(root.opcode);
  if (!splits && root.opcode != Opcode::kDot) return;
  for (size_t i = 0; i < root.operands.size(); ++i) {
    const Instruction& operand = *root.operands[i];
    if (MadeBy(operand).opcode == Opcode::kConstant) continue;
    const Order written = AsWritten(operand.shape);
    const bool turned = !splits && LiesTurned(operand, style);
    Order wanted = written;
    if (!splits) {
      wanted = OrderForDot(root, i, style);
    } else if (MadeBy(operand).opcode == Opcode::kDot) {
      wanted = OrderForCollective(root, operand.shape);
    }
    if (wanted == written && !turned) continue;
    const auto input =
        std::find(kernel.inputs.begin(), kernel.inputs.end(), &operand);
    if (input == kernel.inputs.end()) continue;  // It is fused into the kernel.
    kernel.turned.push_back(
        {static_cast<int32_t>(input - kernel.inputs.begin()),
         std::move(wanted)});
  }
}

void AddRepackedInputs(const Instruction& root, Kernel& kernel) {
  const auto& numbers = root.attributes->dot;
  if (root.opcode != Opcode::kDot || !numbers) return;
  for (int32_t i = 0; i < std::ssize(kernel.inputs); ++i) {
    const Instruction* input = kernel.inputs[i];
    const bool is_turned = std::ranges::any_of(
        kernel.turned, [&](const TurnedInput& one) { return one.input == i; });
    if (is_turned ? !IsFusible(MadeBy(*input))
                  : (input == root.operands[0] &&
                     !EndsWith(input->shape, numbers->lhs_contracting)) ||
                        (input == root.operands[1] &&
                         EndsWith(input->shape, numbers->rhs_contracting))) {
      kernel.repacked.push_back(i);
    }
  }
}

}  // namespace meshwright
