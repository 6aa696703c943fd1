// The moments of a step at which memory may be scarce.
#ifndef MESHWRIGHT_SEARCH_MEMORY_POINTS_H_
#define MESHWRIGHT_SEARCH_MEMORY_POINTS_H_

#include "meshwright/search/step_model.h"

namespace meshwright {

// Sets `alive` of all values at some moments, those with most unsplit bytes of
// each stretch of the step; returns their number. Values that are not stored
// are never alive; what a state parameter's next value takes over counts as the
// parameter, which is alive throughout.
int32_t AddMemoryPoints(StepModel& model);

// What a step holds when it holds most, unsplit, on one device.
struct MemoryNeed {
  double state = 0;  // Bytes of parameters.
  double rest = 0;   // Of everything else.
};
MemoryNeed LeastMemory(const StepModel& model);

// Examples of the largest data parameter that holds a batch; 1 when none does.
int64_t BatchSize(const StepModel& model);

}  // namespace meshwright

#endif  // MESHWRIGHT_SEARCH_MEMORY_POINTS_H_
