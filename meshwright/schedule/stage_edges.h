// The edges between the stages of a step.
#ifndef MESHWRIGHT_SCHEDULE_STAGE_EDGES_H_
#define MESHWRIGHT_SCHEDULE_STAGE_EDGES_H_

#include <vector>

#include "meshwright/pipeline/stage_programs.h"
#include "meshwright/schedule/pipeline.h"

namespace meshwright {

// Per micro-batch, without costs.
std::vector<StageEdge> EdgesOf(const StagedStep& step);

}  // namespace meshwright

#endif  // MESHWRIGHT_SCHEDULE_STAGE_EDGES_H_
