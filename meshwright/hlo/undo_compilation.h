// Makes what a compiler printed (`.compile().as_text()`, dumps after
// optimizations) a program again that can be split and compiled:
//
//   fusion(x, w), calls=f     the instructions of f
//   f32[9,10]{1,0} bitcast(x), of x: f32[10,9]{0,1}
//                             transpose(x): XLA compiles no bitcasts, which
//                             layouts define
//   is_scheduled=true         without the schedule, which a second compilation
//                             would not survive
#ifndef MESHWRIGHT_HLO_UNDO_COMPILATION_H_
#define MESHWRIGHT_HLO_UNDO_COMPILATION_H_

#include "meshwright/hlo/module.h"

namespace meshwright {

// Whether there is any of it.
bool IsCompiled(const Module& module);

// Requires: the module passed Verify.
Module UndoCompilation(Module module);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_UNDO_COMPILATION_H_
