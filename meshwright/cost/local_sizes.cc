#include "meshwright/cost/local_sizes.h"

namespace meshwright {

LocalSizes SizesOf(const Instruction& instruction) {
  LocalSizes sizes;
  if (!instruction.operands.empty()) {
    sizes.lhs = instruction.operand_shape(0).dimensions;
  }
  if (instruction.operands.size() > 1) {
    sizes.rhs = instruction.operand_shape(1).dimensions;
  }
  sizes.result = instruction.shape.dimensions;
  return sizes;
}

}  // namespace meshwright
