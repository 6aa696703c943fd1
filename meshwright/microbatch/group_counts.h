// Whether group sizes are the numbers of equal keys.
#ifndef MESHWRIGHT_MICROBATCH_GROUP_COUNTS_H_
#define MESHWRIGHT_MICROBATCH_GROUP_COUNTS_H_

#include "meshwright/hlo/instruction.h"

namespace meshwright {

// Whether element g of `sizes` is how many elements of `keys` are g, and all
// elements are such a number: jnp.bincount, or a sum of one-hot vectors, of
// what top-k or arg-max over as many elements gave. Requires: passed Verify.
bool CountsKeys(const Instruction& sizes, const Instruction& keys);

}  // namespace meshwright

#endif  // MESHWRIGHT_MICROBATCH_GROUP_COUNTS_H_
