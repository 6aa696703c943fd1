// Recomputation of layers that are a loop.
//
//   forward:   saved[i] = tanh(dot(x, w[i]));   x = ... saved[i] ...
//   backward:  d = h(d, saved[i], w[i])
//
//   ->
//
//   forward:   xs[i] = x;                       x = ... tanh(dot(x, w[i])) ...
//   backward:  y = tanh(dot(barrier(xs[i]), w[i]));   d = h(d, y, w[i])
//
// What is left from one loop to the other is what loop_kept.h says.
#ifndef MESHWRIGHT_REMAT_RECOMPUTE_LOOPS_H_
#define MESHWRIGHT_REMAT_RECOMPUTE_LOOPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "meshwright/hlo/module.h"

namespace meshwright {

struct LoopsAgain {
  int64_t count = 0;  // Instructions that are computed again.
  // Why loops that leave something for others stay as they are.
  std::vector<std::string> notes;
};

// Of the loops of all computations. `light`: not what IsDear.
// Requires: the module passed Verify, calls are inlined. It must be finished
// (Module::Finish) afterwards.
LoopsAgain RecomputeLoops(Module& module, bool light);

// The notes alone, of a module that passed Verify.
std::vector<std::string> WhyLoopsStay(const Module& module, bool light);

}  // namespace meshwright

#endif  // MESHWRIGHT_REMAT_RECOMPUTE_LOOPS_H_
