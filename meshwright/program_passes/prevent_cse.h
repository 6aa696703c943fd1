// Prevents CSE and loop-invariant code motion of chosen collectives.
#ifndef MESHWRIGHT_PROGRAM_PASSES_PREVENT_CSE_H_
#define MESHWRIGHT_PROGRAM_PASSES_PREVENT_CSE_H_

#include "meshwright/program/program.h"

namespace meshwright {

// Only for all-gathers, which are the ones that cost memory. XLA's CPU compiler
// decomposes other collectives, and mishandles their control dependences.
bool CanStayApart(const Instruction& instruction);

// A collective that was noted with a use gets a control dependence on the
// operands of the preceding such collective's user. So compilers neither merge
// them nor hoist them out of loops, and prefetch exactly one ahead, while the
// user of the last one runs. Requires: nothing is rewritten afterwards.
void PreventCse(LocalProgram& program);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_PASSES_PREVENT_CSE_H_
