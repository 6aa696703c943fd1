// Test support: kernels with the names, operands and results of Transformer
// Engine's, in f32, which compute as much as their rules depend on: by row, by
// element, sums and maxima over rows, columns transposed. Placeholders and
// workspaces are left as they are.
#ifndef MESHWRIGHT_TESTS_RULES_ENGINE_KERNELS_H_
#define MESHWRIGHT_TESTS_RULES_ENGINE_KERNELS_H_

#include "absl/status/status.h"
#include "meshwright/engine/ffi.h"

namespace meshwright {

// (x, scale, amax, gamma, beta) -> (y, -, 1 / scale, -, amax, mean, inverse
// deviation, -)
absl::Status RunEngineNorm(const FfiCall& call);
// (dy, x, mean, inverse deviation, gamma) -> (dx, dgamma, dbeta, -)
absl::Status RunEngineNormGradient(const FfiCall& call);
// (x [..,l,n], scale, amax) -> (y [..,n], y [n,..], -, -, amax): products of l.
absl::Status RunEngineActivation(const FfiCall& call);
// (dy [..,n], x [..,l,n], scale, amax) -> (dx, -, -, -, amax, dbias, -)
absl::Status RunEngineActivationGradient(const FfiCall& call);
// (lhs, -, rhs, -, bias, ...) -> (output, ..., -). Integer attributes
// `lhs_first` and `rhs_first`: what is before the boundaries is contracted.
// Scales by block are in the order of MXFP8.
absl::Status RunEngineGemm(const FfiCall& call);
// (lhs, -, rhs, -, -, sizes of groups, ...) -> (output, -): with the attribute
// `contracts_rows` rhs has rows, else matrices; `rhs_first` as above. An error
// if `lhs_left_size` is not the number of rows.
absl::Status RunEngineGroupedGemm(const FfiCall& call);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_RULES_ENGINE_KERNELS_H_
