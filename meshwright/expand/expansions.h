// The expansions, one file each, for expand.cc.
#ifndef MESHWRIGHT_EXPAND_EXPANSIONS_H_
#define MESHWRIGHT_EXPAND_EXPANSIONS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/program/local_builder.h"

namespace meshwright {

// The instruction's value, computed by other instructions.
using Expansion = absl::StatusOr<Instruction*> (*)(
    const Instruction& instruction, LocalBuilder& builder);

// expand_ragged_dot.cc: a dot of equal blocks of rows, each of one group. XLA's
// own form for GPUs multiplies all rows with the matrices of all groups.
absl::StatusOr<Instruction*> ExpandRaggedDot(const Instruction& instruction,
                                             LocalBuilder& builder);

// expand_scaled_dot.cc: a dot in f32 of the scaled operands.
absl::StatusOr<Instruction*> ExpandScaledDot(const Instruction& instruction,
                                             LocalBuilder& builder);

// expand_convolution.cc: a form that XLA's simplifier does not mistake for a
// grouped convolution.
bool SeemsGrouped(const Instruction& instruction);
absl::StatusOr<Instruction*> ExpandSeemingGroups(const Instruction& instruction,
                                                 LocalBuilder& builder);

// expand_scatter.cc: whether updates with possibly equal indices are added to
// an array.
bool AddsUpdates(const Instruction& instruction);

// expand_scatter.cc: 16-bit scatter-adds in f32, for which GPUs have atomic
// adds. For 16 bits they use compare-and-swap, one update after another: 8192
// rows with two distinct indices took an H200 40 ms, and 62 us in f32.
bool AddsHalves(const Instruction& instruction);
absl::StatusOr<Instruction*> ExpandSumOfHalves(const Instruction& instruction,
                                               LocalBuilder& builder);

// expand_few_rows.cc: scatter-adds into few rows (segments, position buckets),
// as one reduction per row. Atomic updates of one address serialise; reading
// all updates once for each of few rows does not.
bool MeetsInFewRows(const Instruction& instruction);
absl::StatusOr<Instruction*> ExpandFewRows(const Instruction& instruction,
                                           LocalBuilder& builder);

// expand_gather.cc: an all-gather along an inner dimension as one along a new
// outermost dimension and a transpose. XLA gathers along the outermost
// dimension: it would otherwise give that layout to everything computed
// elementwise from the result, up to state with a layout of its own, and
// transpose all of it.
bool GathersInside(const Instruction& instruction);
absl::StatusOr<Instruction*> ExpandGatherInside(const Instruction& instruction,
                                                LocalBuilder& builder);
// By id: whether its elements become elements of the computation's results.
std::vector<bool> ElementsOfResults(const Computation& computation);

// expand_outer_sum.cc: a reduction of outer dimensions (the gradient of
// position embeddings: a sum over the batch) of an array whose layout stays
// row-major. From 32 elements on XLA would have them innermost, to make it a
// reduction of rows, and everything that is computed elementwise with the array
// too: the residual stream of all layers, which each matmul then transposes (an
// eighth of the kernels' time of vit large).
bool ReducesOuterDimensions(const Instruction& instruction);
absl::StatusOr<Instruction*> ExpandOuterReduction(
    const Instruction& instruction, LocalBuilder& builder);

// expand_scan.cc: prefix sums and the like, by reduce-window.
absl::StatusOr<Instruction*> ExpandScan(const Instruction& instruction,
                                        LocalBuilder& builder);

// expand_fft.cc: a transform with a row-major result, and so a row-major
// operand. Without it XLA's CPU compiler gives both the layout that a user of
// the result prefers (an all-gather along an inner dimension does), and then
// refuses to run it.
absl::StatusOr<Instruction*> ExpandFft(const Instruction& instruction,
                                       LocalBuilder& builder);

// expand_attention.cc: cuDNN's attention, with the scores materialised.
absl::StatusOr<Instruction*> ExpandAttention(const Instruction& instruction,
                                             LocalBuilder& builder);

// expand_lapack.cc: jaxlib's calls of LAPACK and cuSOLVER as XLA operations;
// kUnimplemented for those without an equivalent (singular values).
bool CallsLapack(const Instruction& instruction);
absl::StatusOr<Instruction*> ExpandLapack(const Instruction& instruction,
                                          LocalBuilder& builder);

// dropout_mask.cc: f32 of `dimensions`, [batch, key heads, query heads per key
// head, queries, keys]: 0 with probability `rate`, else 1 / (1 - rate). Drawn
// from the seed and the position, so that forward and backward agree; not
// cuDNN's numbers, which are not documented.
Instruction* DropoutMask(double rate, int64_t seed,
                         absl::Span<const int64_t> dimensions,
                         LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPAND_EXPANSIONS_H_
