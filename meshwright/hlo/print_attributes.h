// Prints the attributes of an instruction in HLO text.
#ifndef MESHWRIGHT_HLO_PRINT_ATTRIBUTES_H_
#define MESHWRIGHT_HLO_PRINT_ATTRIBUTES_H_

#include <string>

#include "meshwright/hlo/instruction.h"
#include "meshwright/hlo/print_module.h"

namespace meshwright::internal {

// The attributes of the instruction's opcode; absent ones are left out: ",
// dimensions={0}, to_apply=add.3, metadata={...}".
void AppendAttributes(const Instruction& instruction,
                      const PrintOptions& options, std::string* out);
// The same without metadata, called computations, and the devices of
// collectives, which may be thousands of numbers.
void AppendPlainAttributes(const Instruction& instruction, std::string* out);

}  // namespace meshwright::internal

#endif  // MESHWRIGHT_HLO_PRINT_ATTRIBUTES_H_
