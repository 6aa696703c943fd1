// The order of kernels if each runs as soon as it can.
//
//   x = parameter                    a is ready first, then b and w, then c:
//   a = dot(x, x)                    a, w, b, c
//   b = dot(a, a)
//   w = all-gather(x)                w is live from the beginning to c
//   c = dot(b, w)
//
// XLA's CPU compiler orders kernels like this, breadth first: devices have more
// to do at once, and values live longer than in program order.
#ifndef MESHWRIGHT_COST_KERNEL_ORDER_H_
#define MESHWRIGHT_COST_KERNEL_ORDER_H_

#include <vector>

#include "meshwright/cost/kernels.h"
#include "meshwright/hlo/computation.h"

namespace meshwright {

// By when kernels become ready; ties in program order. Requires: all kernels of
// the computation. Linear.
std::vector<Kernel> InOrderOfReadiness(const Computation& computation,
                                       std::vector<Kernel> kernels);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_KERNEL_ORDER_H_
