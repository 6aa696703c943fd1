// The reshards of a pipeline's state that no program holds: where a stage keeps
// state in another sharding than it uses, the runtime reshards it at the
// beginning of a step (StagedLayout::at_work).
//
//   // Weights kept as [data, -] and used as [-, -]:
//   // [all-gather over data of 12 MiB, once per step]
#ifndef MESHWRIGHT_PLANNER_STATE_RESHARDS_H_
#define MESHWRIGHT_PLANNER_STATE_RESHARDS_H_

#include <vector>

#include "meshwright/partition/partition.h"
#include "meshwright/pipeline/stage_layout.h"
#include "meshwright/pipeline/stage_programs.h"

namespace meshwright {

// As they are priced. `splits` by stage: those of the layout.
std::vector<Collective> StateReshards(const StagedStep& step,
                                      const StagedLayout& layout,
                                      const std::vector<StageSplit>& splits);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_STATE_RESHARDS_H_
