// Stages as others cut them: contiguous parts of the program's order.
#ifndef MESHWRIGHT_BENCH_STAGE_CUT_BASELINES_H_
#define MESHWRIGHT_BENCH_STAGE_CUT_BASELINES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "meshwright/pipeline_search/pipeline_step.h"
#include "meshwright/pipeline_search/stage_graph.h"
#include "meshwright/pipeline_search/step_stages.h"

namespace meshwright {

// The same number of layers on every stage, the first ones with one more where
// that does not come out even. Layers are what repeats; in a model that does
// not repeat, every contraction is one. Between two layers the cut is where the
// fewest bytes cross. Stages by node; none for fewer layers than stages.
std::optional<std::vector<StageId>> UniformLayers(const PipelineStep& step,
                                                  const StepGraph& graph,
                                                  int32_t stages);

// Of all contiguous cuts, one of the fewest bytes within 1 + the tolerance, or
// with the least work on the bottleneck stage where that cannot be met
// (tolerance 0: that alone).
std::vector<StageId> LinearProgramme(const StageGraph& graph,
                                     const StageLimits& limits);

}  // namespace meshwright

#endif  // MESHWRIGHT_BENCH_STAGE_CUT_BASELINES_H_
