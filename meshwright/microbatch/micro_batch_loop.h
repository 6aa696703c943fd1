// A step that runs its micro-batches in a loop (gradient accumulation), as one
// module.
//
//   MW_ASSIGN_OR_RETURN(Module looped,
//                       LoopOverMicroBatches(step, {.count = 4}));
//
// It has the same parameters and results as the step, so that everything that
// can be done with a step (planning, partitioning, running) can be done with
// it.
#ifndef MESHWRIGHT_MICROBATCH_MICRO_BATCH_LOOP_H_
#define MESHWRIGHT_MICROBATCH_MICRO_BATCH_LOOP_H_

#include "absl/status/statusor.h"
#include "meshwright/microbatch/micro_batches.h"

namespace meshwright {

// Errors as SplitMicroBatches.
// Requires: `module` passed Verify.
absl::StatusOr<Module> LoopOverMicroBatches(const Module& module,
                                            const MicroBatchOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_MICROBATCH_MICRO_BATCH_LOOP_H_
