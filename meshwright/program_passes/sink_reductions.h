// Moves all-reduces behind data movement of their results, so that contractions
// and transposes are adjacent: the compiler fuses both into one dot in the
// required layout.
#ifndef MESHWRIGHT_PROGRAM_PASSES_SINK_REDUCTIONS_H_
#define MESHWRIGHT_PROGRAM_PASSES_SINK_REDUCTIONS_H_

#include "meshwright/program/program.h"

namespace meshwright {

// transpose(all-reduce(x)) becomes all-reduce(transpose(x)) if the all-reduce
// has no other user; likewise for reshapes.
void SinkReductions(LocalProgram& program);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_PASSES_SINK_REDUCTIONS_H_
