// Checks a module as XLA's verifier would, and says what is wrong and where.
#ifndef MESHWRIGHT_HLO_VERIFY_H_
#define MESHWRIGHT_HLO_VERIFY_H_

#include "absl/status/status.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// kInvalidArgument with one line, "computation/instruction (opcode): what is
// wrong; expected X, got Y", for the first fault: operand counts, shapes
// against InferShape, operands defined earlier in the same computation, called
// computations' signatures, parameter numbers, names, constants, shardings,
// aliases, entry layout, replica groups. Linear in the size of the module.
absl::Status Verify(const Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_VERIFY_H_
