// The expansions, one file each, for expand.cc.
#ifndef MESHWRIGHT_EXPAND_EXPANSIONS_H_
#define MESHWRIGHT_EXPAND_EXPANSIONS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "meshwright/program/local_builder.h"

namespace meshwright {

// The instruction's value, made of other instructions.
using Expansion = absl::StatusOr<Instruction*> (*)(
    const Instruction& instruction, LocalBuilder& builder);

// expand_ragged_dot.cc: a dot of what each group has, zeros elsewhere.
absl::StatusOr<Instruction*> ExpandRaggedDot(const Instruction& instruction,
                                             LocalBuilder& builder);

// expand_scaled_dot.cc: a dot in f32 of what is scaled.
absl::StatusOr<Instruction*> ExpandScaledDot(const Instruction& instruction,
                                             LocalBuilder& builder);

// expand_convolution.cc: without what XLA's simplifier takes for groups.
bool SeemsGrouped(const Instruction& instruction);
absl::StatusOr<Instruction*> ExpandSeemingGroups(const Instruction& instruction,
                                                 LocalBuilder& builder);

// expand_scatter.cc: 16-bit numbers added up in f32, which GPUs add in memory
// at once. Of 16 bits they compare and swap, one update after another: 8192
// rows that meet in two took an H200 40 ms, and 62 us in f32.
bool AddsHalves(const Instruction& instruction);
absl::StatusOr<Instruction*> ExpandSumOfHalves(const Instruction& instruction,
                                               LocalBuilder& builder);

// expand_scan.cc: running sums and the like, by windows.
absl::StatusOr<Instruction*> ExpandScan(const Instruction& instruction,
                                        LocalBuilder& builder);

// expand_attention.cc: cuDNN's attention, with all scores in memory.
absl::StatusOr<Instruction*> ExpandAttention(const Instruction& instruction,
                                             LocalBuilder& builder);

// dropout_mask.cc: f32 of `dimensions`, [batch, key heads, query heads of each,
// queries, keys]: 0 with probability `rate`, else 1 / (1 - rate). Drawn from
// the seed and the position, so that forward and backward agree; not cuDNN's
// numbers, which are not documented.
Instruction* DropoutMask(double rate, int64_t seed,
                         absl::Span<const int64_t> dimensions,
                         LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPAND_EXPANSIONS_H_
