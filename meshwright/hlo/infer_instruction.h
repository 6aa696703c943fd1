// InferShape without building shapes, for the verifier.
#ifndef MESHWRIGHT_HLO_INFER_INSTRUCTION_H_
#define MESHWRIGHT_HLO_INFER_INSTRUCTION_H_

#include "absl/status/statusor.h"
#include "meshwright/hlo/inferred.h"
#include "meshwright/hlo/instruction.h"

namespace meshwright {

// Checks the numbers of operands and called computations, then applies the
// opcode's rule. The result refers to the instruction's operands and callees.
absl::StatusOr<Inferred> InferInstruction(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_INFER_INSTRUCTION_H_
