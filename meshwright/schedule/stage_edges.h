// Which stages of a step get something from which.
#ifndef MESHWRIGHT_SCHEDULE_STAGE_EDGES_H_
#define MESHWRIGHT_SCHEDULE_STAGE_EDGES_H_

#include <vector>

#include "meshwright/pipeline/stage_programs.h"
#include "meshwright/schedule/pipeline.h"

namespace meshwright {

// In a micro-batch. They cost nothing.
std::vector<StageEdge> EdgesOf(const StagedStep& step);

}  // namespace meshwright

#endif  // MESHWRIGHT_SCHEDULE_STAGE_EDGES_H_
