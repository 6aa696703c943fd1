// Translates pins on a step to its micro-batch loop with rematerialisation.
#ifndef MESHWRIGHT_PLANNER_LOOP_PINS_H_
#define MESHWRIGHT_PLANNER_LOOP_PINS_H_

#include <cstdint>

#include "meshwright/annotations/annotations.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Pins on parameters and outputs stay as they are. A pin on an instruction goes
// to its counterparts in the loop or behind it, including rematerialised
// copies: those of the same opcode, name (up to numbers and a suffix "again")
// and op_name metadata, whose dimensions are the same or those of one
// micro-batch.
Annotations PinsInLoop(const Annotations& pins, const Module& looped,
                       int64_t micro_batches);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_LOOP_PINS_H_
