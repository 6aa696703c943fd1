// Ring attention: attention over a sharded sequence (context parallelism).
// Every device keeps its queries, keys and values go round a ring, and the
// results of the blocks are combined by their log-sum-exp.
//
//   step 0   own keys, masked as in the whole
//   step i   keys of the i-th device before; nothing if they come later and
//            the mask is causal
//
// A bias is sharded along the queries; step i adds its columns of those keys.
// Lengths are clipped to the queries of the device and the keys of the step.
// Backward, the gradients of keys and values go round with them.
#ifndef MESHWRIGHT_RULES_RING_ATTENTION_H_
#define MESHWRIGHT_RULES_RING_ATTENTION_H_

#include <vector>

#include "meshwright/rules/fused_attention.h"
#include "meshwright/rules/lowering.h"

namespace meshwright {

// Whether the sequence may be sharded: as many queries as keys, no mask or a
// causal one, with or without a window (window_attention.h) or lengths,
// log-sum-exp among the results.
bool MayGoRound(const FusedAttention& attention);

// The local results, with the sequence sharded over `ring`.
std::vector<Instruction*> RingForward(const LocalOp& op,
                                      const FusedAttention& attention,
                                      const AxisList& ring,
                                      LocalBuilder& builder);
std::vector<Instruction*> RingBackward(const LocalOp& op,
                                       const FusedAttention& attention,
                                       const AxisList& ring,
                                       LocalBuilder& builder);

// The dimension of the sequence: of operands, and of results [b,n,t,h].
int64_t SequenceOf(const FusedAttention& attention, AttentionPart operand);
inline constexpr int64_t kResultSequence = 2;
// Whether an operand goes with the keys, not with the queries.
bool IsOfKeys(AttentionPart operand);

// The kernel call on other operands; result sizes, layouts and configuration
// follow from them.
std::vector<Instruction*> CallAttention(
    const Instruction& like, const std::vector<Instruction*>& operands,
    bool causal, LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_RING_ATTENTION_H_
