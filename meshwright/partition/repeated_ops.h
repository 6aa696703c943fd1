// Instructions that compute again what another one computed: behind a barrier,
// for the backward pass to read it without its having been kept.
//
//   y = tanh(x)
//   t = barrier(x, g)        x, once g is there
//   z = tanh(t.0)            repeats y
#ifndef MESHWRIGHT_PARTITION_REPEATED_OPS_H_
#define MESHWRIGHT_PARTITION_REPEATED_OPS_H_

#include <cstdint>
#include <vector>

#include "meshwright/hlo/computation.h"

namespace meshwright {

// By instruction id: the id of the first that computes the same, barriers
// aside; its own where it is the first. Without barriers, all are their own.
std::vector<int32_t> FirstAlike(const Computation& computation);

}  // namespace meshwright

#endif  // MESHWRIGHT_PARTITION_REPEATED_OPS_H_
