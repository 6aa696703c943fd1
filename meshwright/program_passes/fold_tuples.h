// Sees through tuples that only hand values on, as inlined calls leave them:
//
//   t = tuple(a, b)
//   x = get-tuple-element(t), index=1      whoever uses x uses b
#ifndef MESHWRIGHT_PROGRAM_PASSES_FOLD_TUPLES_H_
#define MESHWRIGHT_PROGRAM_PASSES_FOLD_TUPLES_H_

#include "meshwright/hlo/module.h"

namespace meshwright {

// Whether there are any.
bool HandsOnTuples(const Module& module);

// In place; tuples that nothing needs any more go.
void FoldTuples(Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_PASSES_FOLD_TUPLES_H_
