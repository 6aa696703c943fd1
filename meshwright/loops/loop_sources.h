// Values in the bodies of loops that were made elsewhere.
//
//   rows = iota s32[8]; scan: h[rows, t]          // rows is handed in
//   gradient: reads places[i] that the scan wrote // one of what it wrote
#ifndef MESHWRIGHT_LOOPS_LOOP_SOURCES_H_
#define MESHWRIGHT_LOOPS_LOOP_SOURCES_H_

#include "meshwright/hlo/affine_index.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Of values that a loop is given and never changes, what it is given; of what a
// loop reads from an array that another loop wrote, slot by slot, the value
// that was written there in some iteration. Requires: passed Verify, calls are
// inlined.
IndexSources FindLoopSources(const Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_LOOPS_LOOP_SOURCES_H_
