// The index operand of gather and scatter: an array of index vectors, with one
// component for each of some dimensions of the indexed tensor.
//
//   s32[4,7,2], vector dimension 2: 4 x 7 vectors (i, j)
#ifndef MESHWRIGHT_RULES_INDEX_VECTORS_H_
#define MESHWRIGHT_RULES_INDEX_VECTORS_H_

#include <cstdint>
#include <vector>

#include "meshwright/hlo/shape.h"
#include "meshwright/program/local_builder.h"

namespace meshwright {

bool Contains(const std::vector<int64_t>& list, int64_t value);

// The dimensions of 0 ... rank - 1 that are not in `list`, in order.
std::vector<int64_t> Others(int64_t rank, const std::vector<int64_t>& list);

// The number of components of a vector. `vector_dimension` may be equal to the
// rank, for vectors of one component without a dimension of their own.
int64_t VectorSize(const Shape& indices, int64_t vector_dimension);

// The components, each an array without the vector dimension; and the inverse.
std::vector<Instruction*> Components(Instruction* indices,
                                     int64_t vector_dimension,
                                     LocalBuilder& builder);
Instruction* FromComponents(const std::vector<Instruction*>& components,
                            const Shape& like, int64_t vector_dimension,
                            LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_INDEX_VECTORS_H_
