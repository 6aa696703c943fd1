// Instructions that accumulate the results of micro-batches.
#ifndef MESHWRIGHT_MICROBATCH_ACCUMULATE_H_
#define MESHWRIGHT_MICROBATCH_ACCUMULATE_H_

#include "meshwright/mesh/sharding.h"
#include "meshwright/program/local_builder.h"

namespace meshwright {

// `total` after this micro-batch: `value` is written to its place in it or
// combined with it, depending on the sharding `state` of the value over time.
Instruction* Accumulate(Instruction* total, Instruction* value,
                        const Sharding& state, LocalBuilder& builder);

// An estimate of the full sum from `value`, this micro-batch's share of it:
// what it would be if all micro-batches were like this one.
Instruction* Estimate(Instruction* value, Reduction reduction,
                      LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_MICROBATCH_ACCUMULATE_H_
