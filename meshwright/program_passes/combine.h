// Fewer, larger collectives: all-reduces that do not wait for each other and go
// between the same devices become one, and so do permutes between different
// devices.
#ifndef MESHWRIGHT_PROGRAM_PASSES_COMBINE_H_
#define MESHWRIGHT_PROGRAM_PASSES_COMBINE_H_

#include <cstdint>

#include "meshwright/program/program.h"

namespace meshwright {

// No combined one moves more than `max_bytes` (unless a single one does).
// Requires: nothing dead, so after Simplify.
void CombineAllReduces(LocalProgram& program, int64_t max_bytes);

// Permutes of equal shapes in which no device sends twice and none receives
// twice become one:
//   0->1 1->2 of a, 2->0 of b   ->   0->1 1->2 2->0 of (a, a, b)
// Each device chooses what it sends; those that one permute sent nothing to go
// on to read zeros from it.
// Requires: nothing dead, so after Simplify.
void CombinePermutes(LocalProgram& program);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_PASSES_COMBINE_H_
