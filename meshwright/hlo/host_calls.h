// Instructions that need the process that made the program: Python functions
// that it calls back, and data that it exchanges while it runs.
#ifndef MESHWRIGHT_HLO_HOST_CALLS_H_
#define MESHWRIGHT_HLO_HOST_CALLS_H_

#include <string>
#include <vector>

#include "meshwright/hlo/module.h"

namespace meshwright {

// In the order of the module; no process but the one that traced the program
// can run it while there are any.
std::vector<const Instruction*> HostCalls(const Module& module);

// What one of them does, and where it is from: "debug_print.1
// (jit(step)/debug_print, train.py:31) calls a Python function".
std::string HostCallWords(const Module& module, const Instruction& instruction);
// What to do about it: "take jax.debug.print ... out of the step ...".
std::string HostCallCure(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_HOST_CALLS_H_
