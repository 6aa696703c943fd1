// Attention with dropout on several devices.
//
// cuDNN draws its mask from a seed in the call's configuration and from the
// position in the call's own [batch, heads, queries, keys]. With one seed all
// shards would drop the same elements. The seed is static, so every device
// chooses among calls that differ in it:
//
//   conditional(index along the axes that split batch and heads)
//     branch i: the call with seed ShardSeed(seed, i)
//
// A forward and its backward drop the same if they are split alike
// (partition/dropout_ties.h).
#ifndef MESHWRIGHT_RULES_DROPOUT_SEEDS_H_
#define MESHWRIGHT_RULES_DROPOUT_SEEDS_H_

#include <cstdint>
#include <vector>

#include "meshwright/rules/lowering.h"

namespace meshwright {

// At most so many branches; further shards share their seeds.
inline constexpr int64_t kMaxSeeds = 16;

// A seed of its own for each shard below kMaxSeeds, that of the call for the
// first; not negative, within 32 bits.
int64_t ShardSeed(int64_t seed, int64_t shard);

// The kernel as CallAttention (ring_attention.h), with this device's seed of
// those along `axes`.
std::vector<Instruction*> CallWithOwnSeed(
    const Instruction& like, const std::vector<Instruction*>& operands,
    const AxisList& axes, LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_DROPOUT_SEEDS_H_
