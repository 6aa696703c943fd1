// The moments of a step at which memory may be scarce.
#ifndef MESHWRIGHT_SEARCH_MEMORY_POINTS_H_
#define MESHWRIGHT_SEARCH_MEMORY_POINTS_H_

#include "meshwright/search/step_model.h"

namespace meshwright {

// Sets `alive` of all values at a number of memory points, and returns that
// number. The points are, for each stretch of the step, the moment with the
// most unsharded bytes alive. Values that are not materialised are never alive;
// memory that a state parameter's next value reuses counts as the parameter,
// which is alive throughout.
int32_t AddMemoryPoints(StepModel& model);

// The peak memory of a step, unsharded, on one device.
struct MemoryNeed {
  double state = 0;  // Bytes of state parameters.
  double rest = 0;   // Of everything else.
};
MemoryNeed LeastMemory(const StepModel& model);

// Examples in the largest data parameter that holds a batch; 1 if none does.
int64_t BatchSize(const StepModel& model);

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_MEMORY_POINTS_H_
