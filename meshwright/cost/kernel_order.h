// The order in which kernels run where each runs as soon as it can.
//
//   x = parameter                    a is ready first, then b and w, then c:
//   a = dot(x, x)                    a, w, b, c
//   b = dot(a, a)
//   w = all-gather(x)                w is there from the beginning to c
//   c = dot(b, w)
//
// XLA's compiler for CPUs orders so, breadth first: devices have more to do at
// once, and values are there for longer than in the order of the program.
#ifndef MESHWRIGHT_COST_KERNEL_ORDER_H_
#define MESHWRIGHT_COST_KERNEL_ORDER_H_

#include <vector>

#include "meshwright/cost/kernels.h"
#include "meshwright/hlo/computation.h"

namespace meshwright {

// What becomes ready first is first; of equals, what comes first in the
// program. Requires: all kernels of the computation. Linear.
std::vector<Kernel> InOrderOfReadiness(const Computation& computation,
                                       std::vector<Kernel> kernels);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_KERNEL_ORDER_H_
