// Load-balanced ring attention for causal masks: a ring on a sequence in
// zig-zag order.
//
// In the plain ring (ring_attention.h) the device with the last queries needs
// all keys, and all others wait for it. Here the sequence is folded first
// (fold_sequence.h): each device has an early and a late half shard. Of the
// keys that arrive from another device,
//
//   late queries attend to its early keys, whichever device it is;
//   early queries attend to its early keys if it is before this one, and
//   late queries attend to its late keys if it is behind this one,
//
// and nothing else. These are two calls of half by half shards in each step:
// half of what the plain ring computes. Results are unfolded at the end.
#ifndef MESHWRIGHT_RULES_BALANCED_RING_H_
#define MESHWRIGHT_RULES_BALANCED_RING_H_

#include <vector>

#include "meshwright/rules/fused_attention.h"
#include "meshwright/rules/lowering.h"

namespace meshwright {

// Whether shards can be halved, and the work that is saved takes longer than
// folding and unfolding (LocalProgram::permute_in_flops).
bool IsWorthBalancing(const LocalOp& op, const FusedAttention& attention,
                      const AxisList& ring, LocalBuilder& builder);

// As RingForward and RingBackward. Requires: IsWorthBalancing.
std::vector<Instruction*> BalancedForward(const LocalOp& op,
                                          const FusedAttention& attention,
                                          const AxisList& ring,
                                          LocalBuilder& builder);
std::vector<Instruction*> BalancedBackward(const LocalOp& op,
                                           const FusedAttention& attention,
                                           const AxisList& ring,
                                           LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_BALANCED_RING_H_
