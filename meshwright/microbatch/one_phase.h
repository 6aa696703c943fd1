// Micro-batches that need not wait for one another, for pipelines.
#ifndef MESHWRIGHT_MICROBATCH_ONE_PHASE_H_
#define MESHWRIGHT_MICROBATCH_ONE_PHASE_H_

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/microbatch/micro_batches.h"

namespace meshwright {

// As SplitMicroBatches, with one phase. Where a sum over the batch is needed
// inside it and takes no contractions (the number of tokens that count, to
// divide by), every micro-batch computes it itself: the parameters that it is
// made of come whole, and a micro-batch takes its part of them in its program.
absl::StatusOr<MicroBatched> SplitInOnePhase(const Module& module,
                                             const MicroBatchOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_MICROBATCH_ONE_PHASE_H_
