// What operations do with the rows of an array.
#ifndef MESHWRIGHT_MICROBATCH_ROW_TRAITS_H_
#define MESHWRIGHT_MICROBATCH_ROW_TRAITS_H_

#include <cstddef>
#include <cstdint>

#include "meshwright/hlo/instruction.h"

namespace meshwright {

// Whether all elements along the dimension are equal, as far as can be told.
bool IsSameAlong(const Instruction& value, int64_t dimension);

// Whether, in a dimension of operand `operand` that the op's sharding rule
// keeps or reduces, the op does the same with every row, wherever it is.
bool TreatsRowsEqually(const Instruction& op, size_t operand,
                       int64_t dimension);

// Whether it sorts the rows' numbers beside their keys, smallest first. Not of
// more rows than can be looked at.
bool NumbersRows(const Instruction& sort);

}  // namespace meshwright

#endif  // MESHWRIGHT_MICROBATCH_ROW_TRAITS_H_
