// Splits a step for a whole batch into a program for one micro-batch, run
// several times, and one that finishes the step.
//
//   MW_ASSIGN_OR_RETURN(MicroBatched split,
//                       SplitMicroBatches(step, {.count = 4}));
//   accumulators = run(split.start)
//   for each phase, for t in 0..3:
//     accumulators = run(phase.module, part t of the batch, t, accumulators)
//   outputs = run(split.apply.module, state, accumulators)
//
// The outputs equal those of the step on the whole batch, up to the order of
// floating-point sums: constants such as the 1/N of a mean are unchanged, and
// random numbers and positions are those of the whole batch.
#ifndef MESHWRIGHT_MICROBATCH_MICRO_BATCHES_H_
#define MESHWRIGHT_MICROBATCH_MICRO_BATCHES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/mesh/sharding.h"

namespace meshwright {

inline constexpr int64_t kMaxMicroBatches = 65536;
// In place of the dimension, for a parameter without a batch.
inline constexpr int64_t kNoBatch = -1;

struct MicroBatchOptions {
  int64_t count = 2;  // 2 to kMaxMicroBatches.
  // By leaf array of the entry's parameters: the dimension to split, or
  // kNoBatch. nullopt: chosen among data parameters (frontend attribute
  // mw.role; without any, those not aliased to an output) by the size of the
  // batch; see BatchDimensions.
  std::vector<std::optional<int64_t>> batch_dims;
  // Where a sum over the batch is needed within a micro-batch and would take a
  // second pass (batch norm), use `count` times the micro-batch's own sum as an
  // estimate. Otherwise such a step is refused.
  bool allow_inexact = false;
  // Devices that share a micro-batch: if rows are sorted in it, then in so many
  // blocks, or a divisor of so many, where that is the same (sort_in_blocks.h).
  int64_t row_blocks = 1;
};

// A value accumulated over micro-batches.
struct Accumulator {
  std::string tensor;  // The instruction of the step whose value it becomes.
  Shape shape;
  Reduction reduction = Reduction::kSum;
  bool stacked = false;  // Each micro-batch writes its part of the elements.
  int32_t phase = 0;     // The phase that accumulates it.
};

// The meaning of a program's parameter.
struct MicroBatchArgument {
  enum class Kind : uint8_t {
    kParameter,    // Leaf array `index` of the step's parameters.
    kIndex,        // The number of the micro-batch, s32[].
    kAccumulator,  // Accumulator `index`.
  };
  Kind kind = Kind::kParameter;
  int64_t index = 0;
  // If set: micro-batch t gets part t of this dimension.
  std::optional<int64_t> batch_dim;
};

struct MicroBatchProgram {
  Module module;
  std::vector<MicroBatchArgument> arguments;  // By parameter.
  // The accumulators in its root, a tuple; each may reuse the buffer of the
  // parameter of the same accumulator. Empty for the last program, whose root
  // is that of the step.
  std::vector<int64_t> accumulators;
};

struct MicroBatched {
  int64_t count = 1;
  int64_t parameter_count = 0;  // Leaf arrays of the step, used or not.
  // Run one after another, each `count` times. Usually one; more if the last
  // needs a sum over the whole batch before it starts.
  std::vector<MicroBatchProgram> phases;
  // Runs once at the end. State is aliased as in the step.
  MicroBatchProgram apply;
  // Without parameters; returns a tuple of the initial accumulators.
  Module start;
  std::vector<Accumulator> accumulators;
  // Instructions whose sums are estimated (allow_inexact).
  std::vector<std::string> estimated;
};

// kInvalidArgument, naming the instruction, if a micro-batch would need the
// others: sorting or normalising over the batch, comparing examples with one
// another, ranking tokens across it. Requires: `module` passed Verify.
absl::StatusOr<MicroBatched> SplitMicroBatches(
    const Module& module, const MicroBatchOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_MICROBATCH_MICRO_BATCHES_H_
