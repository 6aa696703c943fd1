// Packed sequences in cuDNN's attention: rows of the batch that contain several
// segments each.
//
// The kernel takes one list of all segments: the length of each, and the
// element at which it begins, counted from the first row. JAX writes the list
// without gaps, so that the position of a segment in the list depends on all
// rows before it:
//
//   rows of 8 elements, at most 3 segments      3 5 -    2 3 3
//   lengths [2,3]                               3 5 2    3 3 0
//   offsets [2,4]                               0 3 8 10   13 16 16 16
//
// Partitioned programs give every row entries of its own; those that a row does
// not need have length zero and the offset of the row:
//
//   lengths                                     3 5 0    2 3 3
//   offsets                                     0 3 0 8   10 13 16 16
//
// The log-sum-exp, which has a row for each segment, is then sharded with the
// batch. All calls of a program use this form, sharded or not; otherwise a
// backward call would read the values of other segments than its forward call
// wrote. A list that already has this form is not changed.
#ifndef MESHWRIGHT_RULES_PACKED_SEGMENTS_H_
#define MESHWRIGHT_RULES_PACKED_SEGMENTS_H_

#include <cstdint>
#include <vector>

#include "meshwright/rules/fused_attention.h"
#include "meshwright/rules/lowering.h"

namespace meshwright {

// Whether the offsets of queries and keys are in the same unit, and nothing
// else is numbered across the batch.
bool CanListByRow(const FusedAttention& attention);

// The operands of the call with the list of this device's rows, as offsets over
// all heads. `batch` is the factor of the rows. Requires:
// CanListByRow(attention).
std::vector<Instruction*> ListByRow(const LocalOp& op,
                                    const FusedAttention& attention,
                                    int32_t batch, LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_PACKED_SEGMENTS_H_
