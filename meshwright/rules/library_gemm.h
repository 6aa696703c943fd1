// Matmuls of Transformer Engine: te_gemm_ffi and te_gemm_v2_ffi.
//
//   lhs, inverse scale, rhs, inverse scale, bias, [gelu input], [alpha, beta]
//     -> output, [bias gradient, gelu input, ...], workspace
//
// Each side is a matrix of dimensions before and after its axis boundary; the
// attributes say which of the two are contracted, and hold no sizes.
#ifndef MESHWRIGHT_RULES_LIBRARY_GEMM_H_
#define MESHWRIGHT_RULES_LIBRARY_GEMM_H_

#include <optional>

#include "meshwright/rules/rule.h"

namespace meshwright {

bool IsLibraryGemm(const Instruction& instruction);

// 0 for another instruction, or one that is not as expected.
double LibraryGemmFlops(const Instruction& instruction);

// As a dot; what is contracted is whole where something is added to the sum or
// done with it. nullopt for scales by block, for gradients of the bias, and
// where the call itself communicates.
std::optional<Rule> LibraryGemmFactors(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_LIBRARY_GEMM_H_
