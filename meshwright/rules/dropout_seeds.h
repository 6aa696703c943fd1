// Attention with dropout on several devices.
//
// cuDNN draws its dropout mask from a seed in the call's configuration and from
// the position in the call's own [batch, heads, queries, keys]. With one seed
// all shards would drop the same elements. Since the seed is static, every
// device selects among calls that differ in it:
//
//   conditional(index along the axes that split batch, heads and sequence)
//     branch i: the call with seed ShardSeed(seed, i)
//
// In ring attention (ring_attention.h), each block of keys is dropped from by a
// seed of its own as well.
//
// A forward and its backward call draw the same mask if they have the same
// sharding (partition/dropout_ties.h).
#ifndef MESHWRIGHT_RULES_DROPOUT_SEEDS_H_
#define MESHWRIGHT_RULES_DROPOUT_SEEDS_H_

#include <cstdint>
#include <vector>

#include "meshwright/rules/fused_attention.h"
#include "meshwright/rules/lowering.h"

namespace meshwright {

// The maximum number of branches; further shards share seeds.
inline constexpr int64_t kMaxSeeds = 16;

// A different seed for each shard below kMaxSeeds; for shard 0 the call's own.
// Step s of a ring goes on where step s - 1 ends. Non-negative, within 32 bits.
int64_t ShardSeed(int64_t seed, int64_t shard);

// CallAttention (ring_attention.h) of step `step` of a ring, with a causal mask
// only in step 0; with dropout, with the seed of this device's shard and of the
// step.
std::vector<Instruction*> CallShard(const LocalOp& op,
                                    const FusedAttention& attention,
                                    const std::vector<Instruction*>& operands,
                                    int64_t step, LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_DROPOUT_SEEDS_H_
