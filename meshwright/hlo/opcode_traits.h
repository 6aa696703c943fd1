// Traits of opcodes: one table, a row per opcode.
//
//   IsElementwise(Opcode::kTanh)   // true, and so is IsTranscendental
//   IsElementwise(Opcode::kSlice)  // false: it moves elements
//
// Properties that depend on more than the opcode are functions of instructions:
// whether a custom call is a contraction, `analysis/flops.h`; how an operation
// is sharded, `rules/rule_table.h`.
#ifndef MESHWRIGHT_HLO_OPCODE_TRAITS_H_
#define MESHWRIGHT_HLO_OPCODE_TRAITS_H_

#include <cstddef>

#include "meshwright/hlo/opcode.h"

namespace meshwright {

#define MW_COUNT(symbol, name) +1
inline constexpr size_t kOpcodeCount =
    1 /* kUnknown */ MW_HLO_OPCODES(MW_COUNT);
#undef MW_COUNT

// Each element of the result depends on the operands' elements at the same
// position.
bool IsElementwise(Opcode opcode);
// Elementwise, with one operation per element.
bool IsArithmetic(Opcode opcode);
// Elementwise, with many operations per element.
bool IsTranscendental(Opcode opcode);
// Moves, repeats or drops elements.
bool IsMovement(Opcode opcode);
// Each element of the result is one of the first operand, perhaps converted.
bool SelectsElements(Opcode opcode);
// And each of these occurs once: copies, converts, transposes, ...
bool KeepsElements(Opcode opcode);
// Writes elements in another order than it reads them.
bool ReordersElements(Opcode opcode);
// The same bytes, interpreted differently.
bool KeepsBytes(Opcode opcode);
// Sums of products: dot, convolution, ...
bool IsContraction(Opcode opcode);

// Communicates between devices.
bool IsCollective(Opcode opcode);
// The one that runs, for kAllReduce and kAllReduceStart alike; kUnknown for the
// second half of a pair and for all that communicates nothing.
Opcode CollectiveOf(Opcode opcode);
// Reduces values of several devices.
bool ReducesAcrossDevices(Opcode opcode);
// All devices of a group get the same result.
bool MakesEqual(Opcode opcode);
// Splits or concatenates arrays along one dimension.
bool IsAlongDimension(Opcode opcode);
// Returns the number of the device.
bool IsDeviceId(Opcode opcode);
// Communicates with the host or an external peer.
bool IsHostExchange(Opcode opcode);

// Calls computations other than to apply them to elements.
bool IsControlFlow(Opcode opcode);
// Of these, what remains once calls are inlined.
bool IsLoopOrBranch(Opcode opcode);
// Computes from state of the device, so that no two runs are alike.
bool HasHiddenState(Opcode opcode);
// Names, groups or orders values; no element is read or written.
bool IsNoOp(Opcode opcode);
// A no-op that returns its operand, and prevents compilers from moving
// operations across.
bool IsBarrier(Opcode opcode);
// One half of a pair of start and done, as compilers make them.
bool IsAsynchronous(Opcode opcode);
// The second one.
bool IsDone(Opcode opcode);
// Has sizes that are known only at run time.
bool IsDynamicSize(Opcode opcode);

// How XLA compiles it. By a call of a library, such as cuDNN's convolutions:
bool IsLibraryCall(Opcode opcode);
// as other operations, mostly or always:
bool IsRewritten(Opcode opcode);
// to few instructions per element, where others take a long polynomial.
bool HasShortCode(Opcode opcode);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_OPCODE_TRAITS_H_
