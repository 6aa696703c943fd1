// Gradients that are sums over several stages.
//
// A weight that is used on two stages (tied embeddings) has a gradient that is
// a sum of two terms. Instead of sending a term in every micro-batch, each
// stage accumulates its own; the accumulators are added once, at the end of the
// step.
#ifndef MESHWRIGHT_PIPELINE_STAGE_SUMS_H_
#define MESHWRIGHT_PIPELINE_STAGE_SUMS_H_

#include <cstdint>
#include <vector>

#include "meshwright/microbatch/micro_batches.h"
#include "meshwright/pipeline/cut_graph.h"
#include "meshwright/pipeline/stage_id.h"

namespace meshwright {

// By result of a phase: the terms of the sum that is added to its accumulator.
// Empty for results with a single term, or that are not sums.
std::vector<std::vector<const Instruction*>> SumTerms(
    const MicroBatchProgram& phase, const CutGraph& graph,
    const std::vector<Accumulator>& accumulators);

// Output `output` of a step is the next value of parameter `parameter`.
struct NextValue {
  int64_t parameter = 0;
  int64_t output = 0;
};

// A step of one phase, prepared for cutting into stages.
struct StagedSplit {
  MicroBatchProgram phase;
  MicroBatchProgram apply;
  std::vector<Accumulator> accumulators;
  // By instruction id of the phase; kNoStage if it has none.
  std::vector<StageId> stage;
};

// Gives every stage that computes terms of a sum an accumulator of its own.
// Instructions of the phase keep their ids; new ones come after them. In
// `apply`, every output that is the next value of a parameter becomes an
// instruction of its own: not a parameter other than that one, not an element
// of the result of a loop or branch, and not another output as well. `stage`
// and `terms` are by instruction id and by result of the one phase.
StagedSplit SplitSums(const MicroBatched& split, const CutGraph& graph,
                      const std::vector<std::vector<const Instruction*>>& terms,
                      const std::vector<NextValue>& state,
                      std::vector<StageId> stage);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_STAGE_SUMS_H_
