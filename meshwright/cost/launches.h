// What the host of an accelerator takes to start the kernels of a program.
//
//   fusion, dot, fusion, dot, fusion    one graph: 8 us at the first
//   convolution                         of a library, by itself: 14 us
//   fusion, fusion                      too few for a graph: 4 us each
//
// Devices that are quicker than that wait for their host. XLA makes graphs
// (command buffers) of kernels that follow each other; convolutions,
// collectives and loops lie between them.
#ifndef MESHWRIGHT_COST_LAUNCHES_H_
#define MESHWRIGHT_COST_LAUNCHES_H_

#include <vector>

#include "meshwright/cost/kernels.h"
#include "meshwright/cost/rates.h"

namespace meshwright {

// By kernel, in the order in which they run; of a graph all of it at its first
// one. What loops and calls start is not counted.
std::vector<double> LaunchSeconds(const std::vector<Kernel>& kernels,
                                  const Rates& rates);

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_LAUNCHES_H_
