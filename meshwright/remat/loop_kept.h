// Which residuals the iterations of a forward scan must save so that the
// reverse scan can rematerialise the rest.
//
//   for i: a = dot(x, w[i]); b = tanh(a); c = b * b; x = x + c
//          saved: a, b, c  ->  x      full
//                              a      selective, if the dot is expensive
//
// The fewest bytes from which the rest can be computed and, among such choices,
// the least recomputation. Free of charge is what the reverse scan has anyway:
// slots of stacked arrays that are only read, loop invariants, the iteration
// number.
#ifndef MESHWRIGHT_REMAT_LOOP_KEPT_H_
#define MESHWRIGHT_REMAT_LOOP_KEPT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "meshwright/analysis/flops.h"
#include "meshwright/remat/loop_residuals.h"

namespace meshwright {

struct LoopKept {
  // By instruction id of the loop's body. What else is needed is rematerialised
  // from these, or free.
  std::vector<bool> is_kept;
  // Per iteration, without what is saved in any case.
  int64_t bytes_before = 0;
  int64_t bytes = 0;
};

// A known integer of a loop as a function of the residuals' slot number: factor
// * slot + offset. nullopt if it has no such form.
struct OfSlot {
  int64_t factor = 0;
  int64_t offset = 0;
};
std::optional<OfSlot> ValueOfSlot(const LoopResiduals& residuals,
                                  const LoopElement& element);

// `light`: policy kSelective; what IsExpensiveToRematerialize is saved.
LoopKept ChooseKept(const Instruction& loop, const LoopResiduals& residuals,
                    bool light, const ModuleWork& work);

}  // namespace meshwright

#endif  // MESHWRIGHT_REMAT_LOOP_KEPT_H_
