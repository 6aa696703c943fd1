// LU factorisation with row pivots, as loops over the columns: XLA's compilers
// have none.
#ifndef MESHWRIGHT_EXPAND_EXPAND_LU_H_
#define MESHWRIGHT_EXPAND_EXPAND_LU_H_

#include "meshwright/program/local_builder.h"

namespace meshwright {

// As LAPACK's getrf returns it.
struct Factors {
  Instruction* matrix = nullptr;  // L below the diagonal, U on and above it.
  // s32[...,min(m,n)]: row i was swapped with row pivots[i] - 1, in this order.
  Instruction* pivots = nullptr;
};

// Of matrix[...,m,n].
Factors FactorRows(Instruction* matrix, LocalBuilder& builder);

// The rows after all swaps, as `shape`; pivots[...,k] count from 0 here.
Instruction* PermutationOf(Instruction* pivots, const Shape& shape,
                           LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPAND_EXPAND_LU_H_
