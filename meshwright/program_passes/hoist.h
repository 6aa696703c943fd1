// Loop-invariant code motion of collectives.
#ifndef MESHWRIGHT_PROGRAM_PASSES_HOIST_H_
#define MESHWRIGHT_PROGRAM_PASSES_HOIST_H_

#include "meshwright/program/program.h"

namespace meshwright {

// A collective in a loop's body that depends on loop-invariant values only runs
// once before the loop, and its result becomes another loop-carried value. The
// compiler would do the same unnoticed; this way it is planned and reported.
// Propagation (complete.h) prices such a collective as if it stayed inside:
// otherwise gathering a whole stack of layers ahead of a scan would often seem
// as cheap, and hold all of them in memory.
void HoistCollectives(LocalProgram& program);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_PASSES_HOIST_H_
