// Layout copies (transposes) that compilers for CPUs insert for kernels.
#ifndef MESHWRIGHT_COST_KERNEL_COPIES_H_
#define MESHWRIGHT_COST_KERNEL_COPIES_H_

#include <cstdint>

#include "meshwright/cost/kernels.h"
#include "meshwright/hlo/instruction.h"

namespace meshwright {

// Whether a collective splits or concatenates arrays like `operand` along
// another dimension than the first: it then works on a transposed copy.
bool SplitsInside(const Instruction& collective, const Shape& operand);

// Adds operands and result whose layout is not the one that a convolution
// needs: batch or outer positions first, channels last. Nothing for other
// instructions.
void AddConvolutionCopies(const Instruction& root, Kernel& kernel);

// Instead of an order: as written, not reshaped.
inline constexpr int64_t kForReductions = -1;

// Adds operands of dots and collectives that have another layout than these
// need. A contraction over several dimensions, or with batch dimensions
// elsewhere, needs (batch, rows, contracted) and (batch, contracted, columns);
// a collective that splits or concatenates an inner dimension has that
// dimension outermost in its result, of which reductions need a copy of their
// own (kForReductions). Elementwise kernels write and read any layout; the
// copies of convolutions are counted above.
void AddTurnedInputs(const Instruction& root, const FusionStyle& style,
                     Kernel& kernel);

// Adds operands of a dot that are contracted across their rows: a left one
// whose contracted dimension is not the minor one, a right one whose contracted
// dimension is. Only those whose layout is forced, that is, not computed in the
// needed layout as elementwise kernels can.
void AddRepackedInputs(const Instruction& root, Kernel& kernel);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_KERNEL_COPIES_H_
