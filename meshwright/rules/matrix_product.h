// Dots in the form of library matmuls.
#ifndef MESHWRIGHT_RULES_MATRIX_PRODUCT_H_
#define MESHWRIGHT_RULES_MATRIX_PRODUCT_H_

#include <cstdint>
#include <vector>

#include "meshwright/hlo/instruction.h"

namespace meshwright {

// Whether an operand is a matrix, or a batch of matrices with the batch
// dimensions first, of which one dimension is contracted.
bool IsMatrix(const Shape& shape, const std::vector<int64_t>& batch,
              const std::vector<int64_t>& contracted);

// A dot of two such operands. Compilers transform other contractions into one.
bool IsMatrixProduct(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_MATRIX_PRODUCT_H_
