// Where in the user's program an instruction came from.
//
//   SourceLine(module, instruction);   // "train.py:31"
#ifndef MESHWRIGHT_HLO_SOURCE_LINE_H_
#define MESHWRIGHT_HLO_SOURCE_LINE_H_

#include <string>

#include "meshwright/hlo/module.h"

namespace meshwright {

// Of its metadata or, as newer frontends have it, of the module's stack frames.
// Empty if neither says.
std::string SourceLine(const Module& module, const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_SOURCE_LINE_H_
