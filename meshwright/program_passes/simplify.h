// Algebraic simplification, CSE and DCE of a program, so that what is left,
// above all the collectives, is what will run.
#ifndef MESHWRIGHT_PROGRAM_PASSES_SIMPLIFY_H_
#define MESHWRIGHT_PROGRAM_PASSES_SIMPLIFY_H_

#include "meshwright/program/program.h"

namespace meshwright {

// Removes instructions that return their operand unchanged; data movement (also
// between devices) of a splat constant becomes another splat; a slice within
// one operand of a concatenate is taken from that operand; a sum of a sum
// without other users becomes one sum; a sum over dimensions of size 1 becomes
// a reshape; what is computed between a reshape and its inverse is computed
// without them; equal instructions on equal operands are merged; dead
// instructions are removed.
void Simplify(LocalProgram& program);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_PASSES_SIMPLIFY_H_
