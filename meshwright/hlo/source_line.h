// The origin of an instruction in the source of the user's program.
#ifndef MESHWRIGHT_HLO_SOURCE_LINE_H_
#define MESHWRIGHT_HLO_SOURCE_LINE_H_

#include <string>

#include "meshwright/hlo/module.h"

namespace meshwright {

// From its metadata or, with newer frontends, the module's stack frames. Empty
// if unknown.
std::string SourceLine(const Module& module, const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_SOURCE_LINE_H_
