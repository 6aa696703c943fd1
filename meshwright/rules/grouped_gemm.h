// Grouped matmuls of Transformer Engine: te_grouped_gemm_ffi and _v2_ffi.
//
//   lhs, inverse scale, rhs, inverse scale, bias, sizes of groups along the
//   first and the last dimension of lhs, rhs and output (or nothing), ...
//     -> output, workspaces
//
//   rows [M,K.., by group] x [G,K..,N..] -> [M,N..]
//   rows [M,K..] x rows [M,N..]          -> [G,K..,N..], their gradient
//
// Splits rows with local group sizes, and everything else but groups. Sizes
// are attributes, too, and become those of a device.
#ifndef MESHWRIGHT_RULES_GROUPED_GEMM_H_
#define MESHWRIGHT_RULES_GROUPED_GEMM_H_

#include <optional>
#include <vector>

#include "meshwright/program/local_builder.h"
#include "meshwright/rules/lowering.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

// nullopt for other forms: what is quantized by group has no dimensions.
std::optional<Rule> GroupedGemmFactors(const Instruction& instruction);

std::vector<Instruction*> LowerGroupedGemm(const LocalOp& op,
                                           LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_GROUPED_GEMM_H_
