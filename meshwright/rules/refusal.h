// Instructions that cannot be partitioned.
#ifndef MESHWRIGHT_RULES_REFUSAL_H_
#define MESHWRIGHT_RULES_REFUSAL_H_

#include <string>

#include "meshwright/hlo/instruction.h"

namespace meshwright {

// Why the instruction has no per-device form that computes the same, not even
// the fallback in which every device computes all of it: it communicates with
// other devices or the host, or its sizes are known only at run time. Empty if
// there is no such reason. "all-reduce: the program already communicates
// between devices"
std::string Refusal(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_REFUSAL_H_
