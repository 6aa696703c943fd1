// Copies in another order that compilers for CPUs make for kernels.
#ifndef MESHWRIGHT_COST_KERNEL_COPIES_H_
#define MESHWRIGHT_COST_KERNEL_COPIES_H_

#include <cstdint>

#include "meshwright/cost/kernels.h"
#include "meshwright/hlo/instruction.h"

namespace meshwright {

// Whether a collective splits or joins arrays like `operand` along another
// dimension than their first: it then works on such as are transposed.
bool SplitsInside(const Instruction& collective, const Shape& operand);

// Operands and result that are not as a convolution wants them: batch or outer
// positions first, channels last. Nothing for other instructions.
void AddConvolutionCopies(const Instruction& root, Kernel& kernel);

// In place of an order: as written, not reshaped.
inline constexpr int64_t kForReductions = -1;

// Operands of dots and collectives that lie in another order than these want:
// a contraction over several dimensions, or with batch dimensions elsewhere,
// wants (batch, rows, contracted) and (batch, contracted, columns); what a
// collective splits or joins inside lies with that dimension first, of which
// reductions want a copy for themselves (kForReductions). Elementwise
// kernels write and read any order; the copies of convolutions are counted
// above.
void AddTurnedInputs(const Instruction& root, const FusionStyle& style,
                     Kernel& kernel);

// Operands of a dot that are contracted across their rows: a left one that does
// not end with what is contracted, a right one that does. Of those that have to
// lie in another order, such as were not computed in it, as elementwise kernels
// can.
void AddRepackedInputs(const Instruction& root, Kernel& kernel);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_KERNEL_COPIES_H_
