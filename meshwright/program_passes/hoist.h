// Takes collectives out of loops that would repeat them on the same values.
#ifndef MESHWRIGHT_PROGRAM_PASSES_HOIST_H_
#define MESHWRIGHT_PROGRAM_PASSES_HOIST_H_

#include "meshwright/program/program.h"

namespace meshwright {

// A collective in a loop's body that depends only on what the loop carries
// unchanged runs once before the loop, and the loop carries its result too.
// The compiler would do the same, unseen; this way it is planned and reported.
// Completion prices such a collective as if it stayed inside: gathering a whole
// stack of layers ahead of a loop over them would often be as cheap and hold
// all of them in memory.
void HoistCollectives(LocalProgram& program);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_PASSES_HOIST_H_
