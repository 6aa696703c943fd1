#include "meshwright/rules/matrix_product.h"

namespace meshwright {

bool IsMatrix(const Shape& shape, const std::vector<int64_t>& batch,
              const std::vector<int64_t>& contracted) {
  if (contracted.size() != 1 || shape.rank() > std::ssize(batch) + 2) {
    return false;
  }
  for (int64_t i = 0; i < std::ssize(batch); ++i) {
    if (batch[i] != i) return false;
  }
  return true;
}

bool IsMatrixProduct(const Instruction& instruction) {
  const auto& numbers = instruction.attributes->dot;
  return numbers.has_value() &&
         IsMatrix(instruction.operand_shape(0), numbers->lhs_batch,
                  numbers->lhs_contracting) &&
         IsMatrix(instruction.operand_shape(1), numbers->rhs_batch,
                  numbers->rhs_contracting);
}

}  // namespace meshwright
