// The computations an instruction calls, as attributes of HLO text.
#ifndef MESHWRIGHT_HLO_PRINT_CALLED_H_
#define MESHWRIGHT_HLO_PRINT_CALLED_H_

#include <string>

#include "meshwright/hlo/instruction.h"

namespace meshwright::internal {

// ", condition=cond.4, body=body.3", ", to_apply=add.2"; nothing when the
// instruction calls none.
void AppendCalled(const Instruction& instruction, std::string* out);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_PRINT_CALLED_H_
