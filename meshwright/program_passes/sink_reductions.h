// Moves all-reduces behind what only arranges their results anew, so that a
// compiler finds contractions and transposes side by side: it makes one product
// of both, in the layout that is wanted.
#ifndef MESHWRIGHT_PROGRAM_PASSES_SINK_REDUCTIONS_H_
#define MESHWRIGHT_PROGRAM_PASSES_SINK_REDUCTIONS_H_

#include "meshwright/program/program.h"

namespace meshwright {

// transpose(all-reduce(x)) becomes all-reduce(transpose(x)) where nothing else
// needs the all-reduce; reshapes likewise.
void SinkReductions(LocalProgram& program);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_PASSES_SINK_REDUCTIONS_H_
