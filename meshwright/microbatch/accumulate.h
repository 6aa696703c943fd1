// Instructions that collect what micro-batches give.
#ifndef MESHWRIGHT_MICROBATCH_ACCUMULATE_H_
#define MESHWRIGHT_MICROBATCH_ACCUMULATE_H_

#include "meshwright/mesh/sharding.h"
#include "meshwright/program/local_builder.h"

namespace meshwright {

// `total` after this micro-batch: `value`, which lies over time as `state`
// says, put in its place or combined with what is there.
Instruction* Accumulate(Instruction* total, Instruction* value,
                        const Sharding& state, LocalBuilder& builder);

// What `value`, this micro-batch's share of a sum, would be if all
// micro-batches were as this one.
Instruction* Estimate(Instruction* value, Reduction reduction,
                      LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_MICROBATCH_ACCUMULATE_H_
