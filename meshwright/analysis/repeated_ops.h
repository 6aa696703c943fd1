// Recognises rematerialised instructions: those that recompute, behind a
// barrier, what another instruction computed, so that the backward pass need
// not keep it.
//
//   y = tanh(x)
//   t = barrier(x, g)        x, once g is available
//   z = tanh(t.0)            rematerialises y
#ifndef MESHWRIGHT_ANALYSIS_REPEATED_OPS_H_
#define MESHWRIGHT_ANALYSIS_REPEATED_OPS_H_

#include <cstdint>
#include <vector>

#include "meshwright/hlo/computation.h"

namespace meshwright {

// By instruction id: the id of the first instruction that computes the same
// value, looking through barriers; its own id if it is the first. Without
// barriers every instruction has its own id.
std::vector<int32_t> FirstIdentical(const Computation& computation);

}  // namespace meshwright

#endif  // MESHWRIGHT_ANALYSIS_REPEATED_OPS_H_
