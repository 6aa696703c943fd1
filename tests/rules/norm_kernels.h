// Test support: kernels as users write them, for XLA's FFI. All of f32 rows in
// the last dimension, which they take as a whole.
#ifndef MESHWRIGHT_TESTS_RULES_NORM_KERNELS_H_
#define MESHWRIGHT_TESTS_RULES_NORM_KERNELS_H_

#include "absl/status/status.h"
#include "meshwright/engine/ffi.h"

namespace meshwright {

// RMS norm: x, scale -> y, 1 / rms of each row.
inline constexpr char kNorm[] = "mw_test_norm";
absl::Status RunNorm(const FfiCall& call);

// x, scale, 1 / rms, dy -> dx, dscale (a sum over rows).
inline constexpr char kNormGradient[] = "mw_test_norm_gradient";
absl::Status RunNormGradient(const FfiCall& call);

// x, two words of seed (s32), positions (s32, as x) -> x with half of the
// elements dropped, by seed and position.
inline constexpr char kDropout[] = "mw_test_dropout";
absl::Status RunDropout(const FfiCall& call);

// x -> each row sorted, and a workspace (f32, one dimension) of at least as
// many elements as x, in which that is done.
inline constexpr char kSortRows[] = "mw_test_sort_rows";
absl::Status RunSortRows(const FfiCall& call);

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_RULES_NORM_KERNELS_H_
