// Micro-batches that do not depend on each other, for pipelines.
#ifndef MESHWRIGHT_MICROBATCH_ONE_PHASE_H_
#define MESHWRIGHT_MICROBATCH_ONE_PHASE_H_

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/microbatch/micro_batches.h"

namespace meshwright {

// As SplitMicroBatches, with one phase. Where a sum over the batch is needed
// within a micro-batch and takes no contractions (such as the number of
// unmasked tokens, as a divisor), every micro-batch computes it itself: the
// parameters that it depends on are passed whole, and the program slices its
// micro-batch's part of them.
absl::StatusOr<MicroBatched> SplitInOnePhase(const Module& module,
                                             const MicroBatchOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_MICROBATCH_ONE_PHASE_H_
