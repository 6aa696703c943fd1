// Cuts a training step into the programs of a pipeline.
//
//   F  forward            per micro-batch, from the first stage to the last
//   I  input gradients    per micro-batch, from the last stage to the first
//   W  weight gradients   per micro-batch, any time after I
//   A  apply              per step, in rounds (stage_apply.h)
//
// A stage that sends no gradients back has no I; B is I followed by W. Programs
// add up their contributions to a step in accumulators; state and accumulators
// live on one stage each. Every value that a program computes is used on its
// own stage or sent directly to others.
#ifndef MESHWRIGHT_PIPELINE_STAGE_PROGRAMS_H_
#define MESHWRIGHT_PIPELINE_STAGE_PROGRAMS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"
#include "meshwright/microbatch/micro_batches.h"
#include "meshwright/pipeline/cut_graph.h"
#include "meshwright/pipeline/stage_id.h"
#include "meshwright/pipeline/stage_sums.h"

namespace meshwright {

// The meaning of a program's parameter.
struct StageInput {
  enum class Kind : uint8_t {
    kParameter,    // Leaf array `index` of the step's parameters.
    kMicroBatch,   // The number of the micro-batch, s32[].
    kAccumulator,  // Accumulator `index`.
    kValue,        // Value `index`.
  };
  Kind kind = Kind::kParameter;
  int64_t index = 0;
  // If set: micro-batch t gets part t of this dimension.
  std::optional<int64_t> batch_dim;
};

struct StageProgram {
  enum class Kind : uint8_t { kForward, kInput, kWeight, kApply, kStart };
  Kind kind = Kind::kForward;
  StageId stage;
  int32_t round = 0;  // Of kApply.
  Module module;
  std::vector<StageInput> inputs;  // By parameter.
  std::vector<int32_t> results;  // By element of the root: index of the value.

  // "F0", "I1", "W1", "A0.1" (apply in round 1), "S0".
  std::string Name() const;
};

// The index of a program in StagedStep::programs.
using ProgramId = StrongId<struct ProgramIdTag>;

struct StageValue {
  std::string name;  // Of the instruction that computes it.
  Shape shape;
  ProgramId program;                   // That computes it.
  std::vector<ProgramId> users;        // Programs that need it.
  std::optional<int64_t> accumulator;  // Whose next value it is, if any.
};

struct StageAccumulator {
  Shape shape;
  Reduction reduction = Reduction::kSum;
  StageId stage;
};

struct StagedStep {
  int32_t stages = 1;
  int64_t micro_batches = 1;
  // In an order in which one micro-batch can run: F0, F1, ..., I1, W1, W0, then
  // A0.0, ...; start programs last.
  std::vector<StageProgram> programs;
  std::vector<StageValue> values;
  std::vector<StageAccumulator> accumulators;
  // By leaf array of the step's parameters: the stage that holds it. A
  // parameter that other stages use, too, is sent to them once per step or, if
  // it is data, given to each.
  std::vector<StageId> homes;
  // By leaf of the step's root: kValue or kParameter.
  std::vector<StageInput> outputs;
  std::vector<NextValue> state;
};

struct StageOptions {
  int32_t stages = 2;
  // By instruction id of the micro-batch program: the stage of forward
  // instructions, kNoStage for the rest. Ignored but for nodes of
  // GraphOf(phase).
  std::vector<StageId> forward;
  // Which outputs are next values of which parameters.
  std::vector<NextValue> state;
  // W separate from I where possible; otherwise both are one program, kInput.
  bool split_backward = true;
};

// The graph on which the program of a micro-batch is cut: what depends on
// weights only and is cheap is copied, since it is the same in every
// micro-batch.
CutGraph GraphOf(const MicroBatchProgram& phase);

// kInvalidArgument, naming instructions, when a stage needs what a later one
// makes; or when the step has sums over the whole batch inside (several
// phases), or tuples as parameters.
absl::StatusOr<StagedStep> MakeStagePrograms(const MicroBatched& split,
                                             const StageOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_PIPELINE_STAGE_PROGRAMS_H_
