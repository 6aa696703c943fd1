// The measured costs of the stages of a step, in the form used for schedules
// and simulation.
#ifndef MESHWRIGHT_RUNTIME_STAGED_COSTS_H_
#define MESHWRIGHT_RUNTIME_STAGED_COSTS_H_

#include "meshwright/pipeline/stage_programs.h"
#include "meshwright/schedule/simulate.h"

namespace meshwright {

// The mean duration of each stage's programs in an executed step. Means, not
// medians, so that all its work is included: programs run faster while other
// devices are idle. Transfers cost nothing: they are over when the programs
// that wait for them begin.
PipelineCosts MeasuredCosts(const StagedStep& step, const Simulation& executed);

}  // namespace meshwright

#endif  // MESHWRIGHT_RUNTIME_STAGED_COSTS_H_
