// Rematerialisation of layers in a scan.
//
//   forward:   saved[i] = tanh(dot(x, w[i]));   x = ... saved[i] ...
//   backward:  d = h(d, saved[i], w[i])
//
//   ->
//
//   forward:   xs[i] = x;                       x = ... tanh(dot(x, w[i])) ...
//   backward:  y = tanh(dot(barrier(xs[i]), w[i]));   d = h(d, y, w[i])
//
// What the forward scan saves for the reverse scan is chosen by loop_kept.h.
#ifndef MESHWRIGHT_REMAT_RECOMPUTE_LOOPS_H_
#define MESHWRIGHT_REMAT_RECOMPUTE_LOOPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "meshwright/hlo/module.h"

namespace meshwright {

struct LoopsAgain {
  int64_t count = 0;  // Rematerialised instructions.
  // Why scans with residuals were not changed.
  std::vector<std::string> notes;
};

// Changes the loops of all computations. `light`: policy kSelective; not what
// IsExpensiveToRematerialize. Requires: the module passed Verify, calls are
// inlined. Call Module::Finish afterwards.
LoopsAgain RecomputeLoops(Module& module, bool light);

// Only the notes, for a module that passed Verify.
std::vector<std::string> WhyLoopsStay(const Module& module, bool light);

}  // namespace meshwright

#endif  // MESHWRIGHT_REMAT_RECOMPUTE_LOOPS_H_
