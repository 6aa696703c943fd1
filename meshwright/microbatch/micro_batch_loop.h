// A step that runs its micro-batches in a loop, as one module.
//
//   MW_ASSIGN_OR_RETURN(Module looped,
//                       LoopOverMicroBatches(step, {.count = 4}));
//
// It takes and gives what the step does, so that whatever can be done with a
// step (plan it, partition it, run it) can be done with this one.
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
