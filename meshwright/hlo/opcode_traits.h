// What kinds of operations opcodes are: one table, a row per opcode.
//
//   IsElementwise(Opcode::kTanh)   // true, and so is IsTranscendental
//   IsElementwise(Opcode::kSlice)  // false: it moves elements
//
// What depends on more than the opcode is asked of the instruction: whether a
// custom call is a contraction, `analysis/flops.h`; how an operation is split,
// `rules/rule_table.h`.
#ifndef MESHWRIGHT_HLO_OPCODE_TRAITS_H_
#define MESHWRIGHT_HLO_OPCODE_TRAITS_H_

#include <cstddef>

#include "meshwright/hlo/opcode.h"

namespace meshwright {

#define MW_COUNT(symbol, name) +1
inline constexpr size_t kOpcodeCount =
    1 /* kUnknown */ MW_HLO_OPCODES(MW_COUNT);
#undef MW_COUNT

// Each element of the result comes from the operands' at the same place.
bool IsElementwise(Opcode opcode);
// Elementwise, and one operation for an element.
bool IsArithmetic(Opcode opcode);
// Elementwise, and many operations for an element.
bool IsTranscendental(Opcode opcode);
// Elements go to other places, are repeated or left out.
bool IsMovement(Opcode opcode);
// The same bytes, read in another way.
bool KeepsBytes(Opcode opcode);
// Products that are summed up: dot, convolution, ...
bool IsContraction(Opcode opcode);

// Between devices.
bool IsCollective(Opcode opcode);
// Which device this is.
bool IsDeviceId(Opcode opcode);
// With the host, or whoever is at the other end.
bool IsHostExchange(Opcode opcode);

// Calls computations that it does not merely apply to elements.
bool IsControlFlow(Opcode opcode);
// Passes its operand on: keeps compilers from moving operations across.
bool IsBarrier(Opcode opcode);
// One half of a pair, start and done, that compilers make.
bool IsAsynchronous(Opcode opcode);
// Sizes are known only when it runs.
bool IsDynamicSize(Opcode opcode);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_OPCODE_TRAITS_H_
