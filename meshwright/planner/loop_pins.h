// Pins of a step, for the same step looped over its micro-batches, with some of
// it computed again.
#ifndef MESHWRIGHT_PLANNER_LOOP_PINS_H_
#define MESHWRIGHT_PLANNER_LOOP_PINS_H_

#include <cstdint>

#include "meshwright/annotations/annotations.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Parameters and outputs are those of the step. An instruction's pin goes to
// what stands for it in the loop or after it, and to what computes it again:
// the same opcode, name (but for numbers and "again" behind it) and origin, and
// dimensions that are the same or those of a micro-batch.
Annotations PinsInLoop(const Annotations& pins, const Module& looped,
                       int64_t micro_batches);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_LOOP_PINS_H_
