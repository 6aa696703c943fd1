// Computes constants inside of the loops that they are passed to.
//
//   while(iota, x), body: reads element 0, passes it on
//   becomes               body: computes the iota; element 0 is passed on,
//   unread
//
// Frontends hoist what does not change out of loops. Analyses of a loop's body
// then see an unknown value.
#ifndef MESHWRIGHT_HLO_SINK_LOOP_CONSTANTS_H_
#define MESHWRIGHT_HLO_SINK_LOOP_CONSTANTS_H_

#include "meshwright/hlo/module.h"

namespace meshwright {

// For constants, iotas, and what few cheap operations make of these. Results
// are bitwise unchanged. Requires: `module` passed Verify.
void SinkLoopConstants(Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_SINK_LOOP_CONSTANTS_H_
