// What an iteration of a loop has to leave so that another loop can compute
// again what it needs of it.
//
//   for i: a = dot(x, w[i]); b = tanh(a); c = b * b; x = x + c
//          left: a, b, c  ->  x      full
//                             a      light, if the dot is dear
//
// The fewest bytes that do, and of several such choices that with the least to
// compute. Free is what the other loop has anyway: slots of stacks that are
// read only, what never changes, the number of the iteration.
#ifndef MESHWRIGHT_REMAT_LOOP_KEPT_H_
#define MESHWRIGHT_REMAT_LOOP_KEPT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "meshwright/analysis/flops.h"
#include "meshwright/remat/loop_residuals.h"

namespace meshwright {

struct LoopKept {
  // By instruction id of the loop's body. What else is needed is computed again
  // from it, or free.
  std::vector<bool> is_kept;
  int64_t bytes_before = 0;  // Of an iteration, but for what stays anyway.
  int64_t bytes = 0;
};

// Of a known integer of a loop: its value, as factor * slot + offset; slots are
// those of the residuals. nullopt when it is no such thing.
struct OfSlot {
  int64_t factor = 0;
  int64_t offset = 0;
};
std::optional<OfSlot> ValueOfSlot(const LoopResiduals& residuals,
                                  const LoopElement& element);

// `light`: what IsDear is not computed again.
LoopKept ChooseKept(const Instruction& loop, const LoopResiduals& residuals,
                    bool light, const ModuleWork& work);

}  // namespace meshwright

#endif  // MESHWRIGHT_REMAT_LOOP_KEPT_H_
