// Keeps collectives that are to run by themselves from being merged or moved.
#ifndef MESHWRIGHT_PROGRAM_PASSES_KEEP_APART_H_
#define MESHWRIGHT_PROGRAM_PASSES_KEEP_APART_H_

#include "meshwright/program/program.h"

namespace meshwright {

// All-gathers, which are what takes memory. XLA's CPU compiler decomposes other
// collectives and loses its way when they have control dependences.
bool CanStayApart(const Instruction& instruction);

// Collectives that were noted with a use wait, by a control dependence, for
// what the user of the one before works on: compilers neither merge such ones
// nor take them out of loops, and have one ready while the user of the last is
// at work.
// Requires: nothing is rewritten afterwards.
void KeepApart(LocalProgram& program);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROGRAM_PASSES_KEEP_APART_H_
