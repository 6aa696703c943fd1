#include "meshwright/microbatch/uniform_values.h"

#include <algorithm>
#include <string>

#include "meshwright/hlo/opcode_traits.h"

namespace meshwright {
namespace {

bool IsSplat(const Instruction& constant) {
  const Literal* literal = constant.attributes->literal.get();
  if (literal == nullptr) return false;
  const auto size = static_cast<size_t>(HostBytes(constant.shape.element_type));
  const std::string& data = literal->data;
  return data.size() >= size &&
         data.compare(0, data.size() - size, data, size) == 0;
}

std::vector<int64_t> WithoutOnes(const Shape& shape) {
  std::vector<int64_t> sizes = shape.dimensions;
  std::erase(sizes, 1);
  return sizes;
}

}  // namespace

bool IsUniform(const FlatGraph& graph, ValueId value, size_t dimension) {
  const FlatOp& op = graph.producer(value);
  if (op.kind != OpKind::kCompute || op.after >= 0) return false;
  const Instruction& instruction = *op.instruction;
  if (instruction.opcode == Opcode::kConstant) return IsSplat(instruction);
  const std::vector<int64_t>& dimensions = instruction.attributes->dimensions;
  const auto own = static_cast<int64_t>(dimension);
  if (instruction.opcode == Opcode::kIota) return dimensions[0] != own;
  if (instruction.opcode == Opcode::kBroadcast) {
    const auto found = std::ranges::find(dimensions, own);
    return found == dimensions.end() ||
           IsUniform(graph, op.operands[0],
                     static_cast<size_t>(found - dimensions.begin()));
  }
  return IsElementwise(instruction.opcode) &&
         std::ranges::all_of(op.operands, [&](ValueId operand) {
           return graph.values[operand].shape->IsScalar() ||
                  IsUniform(graph, operand, dimension);
         });
}

bool IsUniform(const FlatGraph& graph, ValueId value) {
  const Shape& shape = *graph.values[value].shape;
  for (size_t i = 0; i < shape.dimensions.size(); ++i) {
    if (shape.dimensions[i] != 1 && !IsUniform(graph, value, i)) return false;
  }
  return true;
}

bool KeepsPlaces(const Instruction& instruction, int64_t rank) {
  switch (instruction.opcode) {
    case Opcode::kReshape:
      return WithoutOnes(instruction.shape) ==
             WithoutOnes(instruction.operand_shape(0));
    // Of what loops stack.
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice: {
      const Shape& part = instruction.opcode == Opcode::kDynamicSlice
                              ? instruction.shape
                              : instruction.operand_shape(1);
      const std::vector<int64_t>& whole =
          instruction.operand_shape(0).dimensions;
      return std::ssize(whole) == rank + 1 && part.dimensions[0] == 1 &&
             std::equal(whole.begin() + 1, whole.end(),
                        part.dimensions.begin() + 1);
    }
    default:
      return IsElementwise(instruction.opcode) || IsBarrier(instruction.opcode);
  }
}

}  // namespace meshwright
