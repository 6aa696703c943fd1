// What the stages of a step were seen to cost, as schedules and simulations
// take it.
#ifndef MESHWRIGHT_RUNTIME_STAGED_COSTS_H_
#define MESHWRIGHT_RUNTIME_STAGED_COSTS_H_

#include "meshwright/pipeline/stage_programs.h"
#include "meshwright/schedule/simulate.h"

namespace meshwright {

// Means of the durations of each stage's programs in an executed step, so that
// all its work is in them: a program is quicker while other devices idle, and
// with medians those times would not count. Transfers count nothing: they are
// over when the programs that wait for them begin.
PipelineCosts MeasuredCosts(const StagedStep& step, const Simulation& executed);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_STAGED_COSTS_H_
