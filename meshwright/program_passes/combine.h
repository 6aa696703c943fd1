// Combines collectives into fewer, larger ones: independent all-reduces among
// the same devices, and permutes between different devices.
#ifndef MESHWRIGHT_PROGRAM_PASSES_COMBINE_H_
#define MESHWRIGHT_PROGRAM_PASSES_COMBINE_H_

#include <cstdint>

#include "meshwright/program/program.h"

namespace meshwright {

// No combined all-reduce has more than `max_bytes` (unless a single one has).
// Requires: no dead instructions, as after Simplify.
void CombineAllReduces(LocalProgram& program, int64_t max_bytes);

// Combines permutes of equal shapes in which, together, no device sends twice
// and none receives twice:
//   0->1 1->2 of a, 2->0 of b   ->   0->1 1->2 2->0 of (a, a, b)
// Each device selects what it sends; devices to which one of the permutes sent
// nothing still read zeros from it. Requires: no dead instructions, as after
// Simplify.
void CombinePermutes(LocalProgram& program);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_PASSES_COMBINE_H_
