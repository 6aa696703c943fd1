// Matmuls of Transformer Engine: te_gemm_ffi and te_gemm_v2_ffi.
//
//   lhs, inverse scale, rhs, inverse scale, bias, [gelu input], [alpha, beta]
//     -> output, [bias gradient, gelu input, ...], workspace
//
// Each side is a matrix whose rows and columns are the dimensions before and
// after its axis boundary; the attributes say which of the two are contracted,
// and contain no sizes.
#ifndef MESHWRIGHT_RULES_LIBRARY_GEMM_H_
#define MESHWRIGHT_RULES_LIBRARY_GEMM_H_

#include <optional>
#include <vector>

#include "meshwright/program/local_builder.h"
#include "meshwright/rules/lowering.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

// The rule of a dot; but contracted dimensions must not be split if something
// is added to the sum or applied to it. Scales by block (MXFP8, NVFP4) are
// whole, and the dimensions that they lie in are split in multiples of 128.
// nullopt for scales that are padded, for bias gradients, and if the call
// itself communicates.
std::optional<Rule> LibraryGemmFactors(const Instruction& instruction);

// The operands of a device, with its part of scales by block.
std::vector<Instruction*> LocalGemmOperands(const LocalOp& op,
                                            LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_LIBRARY_GEMM_H_
