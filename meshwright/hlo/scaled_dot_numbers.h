// Matmuls with a scale per block: `scaled-dot`, and XLA's custom call for it.
//
//   f8[b,m,k] f8[b,n,k] f8[b,m,k/block] f8[b,n,k/block] -> bf16[b,m,n]
//
// An operand without scales has a single scale: of size 1 in every dimension.
#ifndef MESHWRIGHT_HLO_SCALED_DOT_NUMBERS_H_
#define MESHWRIGHT_HLO_SCALED_DOT_NUMBERS_H_

#include <optional>

#include "meshwright/hlo/instruction.h"

namespace meshwright {

// nullopt for another instruction, or one with another form of scales.
std::optional<DotDimensionNumbers> ScaledDotNumbersOf(
    const Instruction& instruction);

// Whether it is XLA's custom call.
bool IsBlockScaledDot(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_SCALED_DOT_NUMBERS_H_
