// Removes from a program what computes nothing new, so that what is left, the
// collectives above all, is what runs.
#ifndef MESHWRIGHT_PROGRAM_PASSES_SIMPLIFY_H_
#define MESHWRIGHT_PROGRAM_PASSES_SIMPLIFY_H_

#include "meshwright/program/program.h"

namespace meshwright {

// Instructions that hand on their operand unchanged go, moving a splat of a
// constant (between devices too) makes another splat, a slice that falls into
// one of several joined values is cut from that one, a sum of a sum that
// nothing else needs is one sum, a sum over dimensions of size 1 a reshape,
// what is computed between a reshape and its inverse is computed without them,
// equal instructions on equal operands become one, and what nothing needs is
// dropped.
void Simplify(LocalProgram& program);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_PASSES_SIMPLIFY_H_
