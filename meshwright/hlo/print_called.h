// Prints the called computations of an instruction as attributes of HLO text.
#ifndef MESHWRIGHT_HLO_PRINT_CALLED_H_
#define MESHWRIGHT_HLO_PRINT_CALLED_H_

#include <string>

#include "meshwright/hlo/instruction.h"

namespace meshwright::internal {

// ", condition=cond.4, body=body.3", ", to_apply=add.2"; nothing if there are
// none.
void AppendCalled(const Instruction& instruction, std::string* out);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_PRINT_CALLED_H_
