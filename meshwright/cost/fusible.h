// Which instructions compilers compute within kernels that use them.
#ifndef MESHWRIGHT_COST_FUSIBLE_H_
#define MESHWRIGHT_COST_FUSIBLE_H_

#include <cstdint>

#include "meshwright/hlo/instruction.h"

namespace meshwright {

// Instructions that only name (parts of) values: tuples, reshapes, ...
bool IsFree(const Instruction& instruction);
// There before any kernel of its computation runs.
bool IsGiven(const Instruction& instruction);
// Computed element by element as part of another kernel.
bool IsFusible(const Instruction& instruction);
// Too dear to be computed twice.
bool IsExpensive(const Instruction& instruction);
// A constant, also when it is converted or repeated.
bool IsConstantLike(const Instruction& instruction);
// Reduces the minor dimensions, f32[8,1024,768] to f32[8,1024], of rows so
// short that the threads that share a core can hold one. Also what reduces
// dimensions of one element only.
bool IsRowReduction(const Instruction& instruction);

// How many bytes of its operand `user` reads.
double TouchedBytes(const Instruction& user, const Instruction& operand);

// Dimensions of more than one element.
int64_t TrueRank(const Shape& shape);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_FUSIBLE_H_
