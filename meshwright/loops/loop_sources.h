// Where values in loop bodies come from.
//
//   rows = iota s32[8]; scan: h[rows, t]          // rows is passed in
//   gradient: reads places[i] that the scan wrote // a slot of what it wrote
#ifndef MESHWRIGHT_LOOPS_LOOP_SOURCES_H_
#define MESHWRIGHT_LOOPS_LOOP_SOURCES_H_

#include "meshwright/hlo/affine_index.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// For loop-invariant values, their initial value; for what a loop reads from an
// array that another loop wrote slot by slot, the value written there in some
// iteration. Requires: `module` passed Verify, calls are inlined.
IndexSources FindLoopSources(const Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_LOOPS_LOOP_SOURCES_H_
