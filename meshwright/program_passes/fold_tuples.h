// Folds tuples that are only forwarded, as inlined calls leave them:
//
//   t = tuple(a, b)
//   x = get-tuple-element(t), index=1      users of x use b instead
#ifndef MESHWRIGHT_PROGRAM_PASSES_FOLD_TUPLES_H_
#define MESHWRIGHT_PROGRAM_PASSES_FOLD_TUPLES_H_

#include "meshwright/hlo/module.h"

namespace meshwright {

// Whether there are any.
bool HandsOnTuples(const Module& module);

// In place; removes tuples that become dead.
void FoldTuples(Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_PASSES_FOLD_TUPLES_H_
