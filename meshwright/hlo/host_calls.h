// Instructions that need the process in which the program was traced: Python
// callbacks, and data exchanged with the host during execution.
#ifndef MESHWRIGHT_HLO_HOST_CALLS_H_
#define MESHWRIGHT_HLO_HOST_CALLS_H_

#include <string>
#include <vector>

#include "meshwright/hlo/module.h"

namespace meshwright {

// In program order. A program with any of them runs only in the process that
// traced it.
std::vector<const Instruction*> HostCalls(const Module& module);

// What such an instruction does, and where it comes from: "debug_print.1
// (jit(step)/debug_print, train.py:31) calls a Python function".
std::string HostCallWords(const Module& module, const Instruction& instruction);
// What to do about it: "take jax.debug.print ... out of the step ...".
std::string HostCallCure(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_HOST_CALLS_H_
