// Attention with a sliding window over a sharded sequence.
//
// A query sees itself and `window` - 1 keys before it, which are on this device
// and on those just before: the halo. They are fetched instead of sent round a
// ring, and one call computes everything, on a sequence of halo and shard with
// the whole's own mask and window:
//
//   keys     [halo | shard]        queries  [ 0 | shard]
//
// Its rows of the halo are discarded; backward, with a gradient of 0, they add
// nothing. The first devices have less before them than others. There the shard
// moves to the front, and what is left is zeros at the end, which nothing sees:
//
//   keys     [shard | 0]           queries  [shard | 0]
//
// Backward, gradients of halo keys go back to where they are from.
//
// A bias stays with its queries, of which a device has all columns: it takes
// those of the call's keys. Lengths are what lies in the call. With dropout, a
// call draws as a step of a ring does (dropout_seeds.h): rows of the halo are
// discarded whatever is dropped from them.
#ifndef MESHWRIGHT_RULES_WINDOW_ATTENTION_H_
#define MESHWRIGHT_RULES_WINDOW_ATTENTION_H_

#include <vector>

#include "meshwright/rules/fused_attention.h"
#include "meshwright/rules/lowering.h"

namespace meshwright {

// The local results, with the sequence sharded over `axes`. Requires: a causal
// mask and a window, MayGoRound (ring_attention.h).
std::vector<Instruction*> WindowForward(const LocalOp& op,
                                        const FusedAttention& attention,
                                        const AxisList& axes,
                                        LocalBuilder& builder);
std::vector<Instruction*> WindowBackward(const LocalOp& op,
                                         const FusedAttention& attention,
                                         const AxisList& axes,
                                         LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_WINDOW_ATTENTION_H_
