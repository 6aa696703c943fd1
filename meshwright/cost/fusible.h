// Which instructions compilers fuse into the kernels that use them.
#ifndef MESHWRIGHT_COST_FUSIBLE_H_
#define MESHWRIGHT_COST_FUSIBLE_H_

#include <cstdint>

#include "meshwright/hlo/instruction.h"

namespace meshwright {

// Instructions that only rename (parts of) values: tuples, reshapes, ...
bool IsFree(const Instruction& instruction);
// Available before any kernel of its computation runs.
bool IsGiven(const Instruction& instruction);
// Computed element by element as part of another kernel.
bool IsFusible(const Instruction& instruction);
// Too expensive to be computed twice.
bool IsExpensive(const Instruction& instruction);
// A constant, possibly converted or broadcast.
bool IsConstantLike(const Instruction& instruction);
// Reduces the minor dimensions, f32[8,1024,768] to f32[8,1024], with rows short
// enough that the threads of one core can hold a row. Also reductions of
// dimensions of size 1 only.
bool IsRowReduction(const Instruction& instruction);
// The elements that a sum over columns adds up, if it keeps the minor dimension
// and compilers do not split it in two; otherwise 0.
int64_t ColumnLength(const Instruction& instruction);

// Whether rows of arrays of these sizes do not begin at multiples of 16 bytes,
// which accelerators load at once.
bool IsUnaligned(ElementType type, absl::Span<const int64_t> sizes);

// How many bytes of its operand `user` reads.
double TouchedBytes(const Instruction& user, const Instruction& operand);

// The number of dimensions of more than one element.
int64_t TrueRank(const Shape& shape);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_FUSIBLE_H_
