// Programs that cannot be partitioned.
#ifndef MESHWRIGHT_RULES_REFUSAL_H_
#define MESHWRIGHT_RULES_REFUSAL_H_

#include <string>

#include "meshwright/hlo/instruction.h"

namespace meshwright {

// Why no per-device form of the instruction computes the same, not even the
// fallback of every device doing all of it: it talks to other devices or to the
// host, or its sizes are known only at run time. Empty when there is no such
// reason. "all-reduce: the program already communicates between devices"
std::string Refusal(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_REFUSAL_H_
