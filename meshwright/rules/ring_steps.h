// The parts of ring attention (ring_attention.h, balanced_ring.h).
#ifndef MESHWRIGHT_RULES_RING_STEPS_H_
#define MESHWRIGHT_RULES_RING_STEPS_H_

#include <cstdint>

#include "meshwright/program/local_builder.h"

namespace meshwright {

// The type in which blocks are combined and gradients accumulated.
inline constexpr ElementType kRingType = ElementType::kF32;

// Sends each device's value to the next device along `axes`.
Instruction* PassOn(Instruction* value, const AxisList& axes,
                    LocalBuilder& builder);

// pred[]: whether a value that was passed on `step` times comes from a device
// before this one along `axes`, not behind it.
Instruction* ComesBefore(int64_t step, const AxisList& axes,
                         LocalBuilder& builder);

// `value` if `condition` (pred[]) holds, otherwise `other` in every element.
Instruction* ValueIf(Instruction* condition, Instruction* value, double other,
                     LocalBuilder& builder);

// Attention to some of the keys: the output [b,n,t,v], and the log-sum-exp
// [b,n,t] of the scores.
struct PartialAttention {
  Instruction* output = nullptr;  // Of kRingType.
  Instruction* sum = nullptr;
};

// A block without what `seen` (pred, as the log-sum-exp) does not mark: -inf
// would not do, as no block may be visible.
PartialAttention Visible(Instruction* seen, const PartialAttention& block,
                         LocalBuilder& builder);

// s32[], by device: the position where the keys of a step begin, of which each
// device has `rows`.
Instruction* StartOfKeys(int64_t step, int64_t rows, const AxisList& ring,
                         LocalBuilder& builder);

// Attention to the keys of both. The log-sum-exps of `a` are finite; in `b`
// -inf marks rows without keys.
PartialAttention JoinPartials(const PartialAttention& a,
                              const PartialAttention& b, LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_RING_STEPS_H_
