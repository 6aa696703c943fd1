// How many arrays the programs of a pipeline's stages take and return per
// micro-batch, estimated before the programs are made. The host prepares each
// of them, which costs time where host and device are the same CPU.
#ifndef MESHWRIGHT_PLANNER_PROGRAM_ARGUMENTS_H_
#define MESHWRIGHT_PLANNER_PROGRAM_ARGUMENTS_H_

#include "meshwright/pipeline_search/pipeline_step.h"

namespace meshwright {

// Sums over all stages.
struct ProgramArguments {
  double forward = 0;
  double input_grad = 0;
  double weight_grad = 0;
};

// Forward programs read parameters and return residuals, which the backward
// programs read; input-gradient programs read parameters too, and
// weight-gradient programs add to accumulators.
ProgramArguments CountArguments(const PipelineStep& step);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_PROGRAM_ARGUMENTS_H_
