// Gradients that add up what several stages give.
//
// A weight that is used on two stages (tied embeddings) has a gradient that is
// a sum of two terms. Rather than send a term in every micro-batch, each stage
// accumulates its own; they are added once, when the step is finished.
#ifndef MESHWRIGHT_PIPELINE_STAGE_SUMS_H_
#define MESHWRIGHT_PIPELINE_STAGE_SUMS_H_

#include <cstdint>
#include <vector>

#include "meshwright/microbatch/micro_batches.h"
#include "meshwright/pipeline/cut_graph.h"

namespace meshwright {

// By result of a phase: the terms it adds to its accumulator. Empty for those
// with one term, or that are no sums.
std::vector<std::vector<const Instruction*>> SumTerms(
    const MicroBatchProgram& phase, const CutGraph& graph,
    const std::vector<Accumulator>& accumulators);

// Output `output` of a step is the next value of parameter `parameter`.
struct NextValue {
  int64_t parameter = 0;
  int64_t output = 0;
};

// A step of one phase as a pipeline takes it apart.
struct StagedSplit {
  MicroBatchProgram phase;
  MicroBatchProgram apply;
  std::vector<Accumulator> accumulators;
  // By instruction id of the phase; kNoStage where it has none.
  std::vector<int32_t> stage;
};

// Gives every stage that has terms of a sum an accumulator of its own.
// Instructions keep their ids in the phase; new ones come after them. In
// `apply`, every output that is the next value of a parameter becomes an
// instruction of its own: no parameter but that one, no element of what a
// loop or branch returns, and no other output.
// `stage` and `terms` by id and by result of the one phase.
StagedSplit SplitSums(const MicroBatched& split, const CutGraph& graph,
                      const std::vector<std::vector<const Instruction*>>& terms,
                      const std::vector<NextValue>& state,
                      std::vector<int32_t> stage);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_STAGE_SUMS_H_
