// Values that are equal all along a dimension, whatever they are.
#ifndef MESHWRIGHT_MICROBATCH_UNIFORM_VALUES_H_
#define MESHWRIGHT_MICROBATCH_UNIFORM_VALUES_H_

#include <cstddef>
#include <cstdint>

#include "meshwright/graph/flat_graph.h"

namespace meshwright {

// By what makes it: broadcasts and constants, and elementwise operations on
// them. False where that does not tell.
bool IsUniform(const FlatGraph& graph, ValueId value, size_t dimension);
// Along all of them.
bool IsUniform(const FlatGraph& graph, ValueId value);

// Whether each element of the result is one of the operands', or made of those,
// at the same place, but for dimensions of one; and for the first dimension of
// arrays of more than `rank`, along which others of that rank are stacked.
bool KeepsPlaces(const Instruction& instruction, int64_t rank);

}  // namespace meshwright

#endif  // MESHWRIGHT_MICROBATCH_UNIFORM_VALUES_H_
