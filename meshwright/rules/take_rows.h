// Gathers rows by index.
#ifndef MESHWRIGHT_RULES_TAKE_ROWS_H_
#define MESHWRIGHT_RULES_TAKE_ROWS_H_

#include "meshwright/program/local_builder.h"

namespace meshwright {

// values[indices] along the first dimension: [n,c] indexed by s32[i,j] gives
// [i,j,c]. Indices out of range take the first or the last row.
Instruction* TakeRows(Instruction* values, Instruction* indices,
                      LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_TAKE_ROWS_H_
