// Packed sequences in cuDNN's attention: rows of the batch that hold several
// segments each.
//
// The kernel takes one list of all segments: how long each is, and at which
// element it begins, counted from the first row. JAX writes it without gaps,
// so that the place of a segment in the list depends on all rows before it:
//
//   rows of 8 elements, at most 3 segments      3 5 -    2 3 3
//   lengths [2,3]                               3 5 2    3 3 0
//   offsets [2,4]                               0 3 8 10   13 16 16 16
//
// Split programs give every row entries of its own; those it does not need
// have no length and begin where the row does:
//
//   lengths                                     3 5 0    2 3 3
//   offsets                                     0 3 0 8   10 13 16 16
//
// The log-sum-exp, a row for each segment, is then split with the batch. All
// calls of a program do so, split or not, or a backward would take the values
// of other segments than its forward left. A list of this form stays as it is.
#ifndef MESHWRIGHT_RULES_PACKED_SEGMENTS_H_
#define MESHWRIGHT_RULES_PACKED_SEGMENTS_H_

#include <cstdint>
#include <vector>

#include "meshwright/rules/fused_attention.h"
#include "meshwright/rules/lowering.h"

namespace meshwright {

// Whether the offsets of queries and of keys are in the same unit, and nothing
// else is numbered across the batch.
bool CanListByRow(const FusedAttention& attention);

// The operands of the call with the list of this device's rows, as offsets in
// all heads. `batch` is the factor of the rows.
// Requires: CanListByRow(attention).
std::vector<Instruction*> ListByRow(const LocalOp& op,
                                    const FusedAttention& attention,
                                    int32_t batch, LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_PACKED_SEGMENTS_H_
