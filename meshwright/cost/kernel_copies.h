// Copies in another order that compilers for CPUs make for kernels.
#ifndef MESHWRIGHT_COST_KERNEL_COPIES_H_
#define MESHWRIGHT_COST_KERNEL_COPIES_H_

#include "meshwright/cost/kernels.h"
#include "meshwright/hlo/instruction.h"

namespace meshwright {

// Whether a collective splits or joins arrays like `operand` along another
// dimension than their first: it then works on such as are transposed.
bool SplitsInside(const Instruction& collective, const Shape& operand);

// Operands and result that are not as a convolution wants them: batch or outer
// positions first, channels last. Nothing for other instructions.
void AddConvolutionCopies(const Instruction& root, Kernel& kernel);

// Operands that a dot made and a collective wants transposed, and such that
// come out of one transposed and a dot wants as they were. Elementwise kernels
// write and read either; the copies of convolutions are counted above.
void AddCollectiveCopies(const Instruction& root, Kernel& kernel);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_KERNEL_COPIES_H_
