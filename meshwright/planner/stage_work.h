// The work of every program of a pipeline before any is sharded: how long its
// kernels take if each is shared evenly by the devices of a stage, how long the
// host takes to launch them, and how many arrays it takes and returns.
//
//   MW_ASSIGN_OR_RETURN(const StepWork work,
//                       WorkOfStages(step, assigned.forward, 4, times));
//   work.stages[0].forward.seconds /
//       WorkOfStep(step, times).micro_batch.seconds;  // Its share.
#ifndef MESHWRIGHT_PLANNER_STAGE_WORK_H_
#define MESHWRIGHT_PLANNER_STAGE_WORK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cost/device_clock.h"
#include "meshwright/cost/rates.h"
#include "meshwright/hlo/shape.h"
#include "meshwright/pipeline_search/pipeline_step.h"
#include "meshwright/schedule/pipeline.h"

namespace meshwright {

struct ProgramWork {
  double seconds = 0;        // Of its kernels; no collectives.
  HostSeconds host_seconds;  // To prepare the program and launch them.
  double arrays = 0;         // Arguments and results.
  double array_seconds = 0;  // To prepare these where the device does that.
};

struct StageWork {
  // For a micro-batch; all 0 if there is no such program.
  ProgramWork forward;
  ProgramWork input_grad;
  ProgramWork weight_grad;
  // Once per step: the beginning, and the rounds of the end.
  std::vector<ProgramWork> once;
};

// A value for a micro-batch that one stage makes and another uses.
struct SentValue {
  std::string name;  // Of the instruction that makes it.
  Shape shape;
  StageId from;
  StageId to;
};

struct StepWork {
  std::vector<StageWork> stages;
  std::vector<SentValue> sent;
  std::vector<StageEdge> edges;  // Without seconds and bytes.
  // Some stage ends the step with what all stages made.
  bool apply_after_all = false;
};

// The parts of a whole step, which is one program: of kernels alone.
struct WholeWork {
  ProgramWork micro_batch;
  ProgramWork once;
};

struct KernelTimes {
  const Rates& rates;
  bool is_cpu = false;
  int64_t devices = 1;
};

WholeWork WorkOfStep(const PipelineStep& step, const KernelTimes& times);

// `forward`: the stage by instruction id of the micro-batch, as
// StepStages::forward. Errors as MakeStagePrograms.
absl::StatusOr<StepWork> WorkOfStages(const PipelineStep& step,
                                      const std::vector<StageId>& forward,
                                      int32_t stages, const KernelTimes& times);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLANNER_STAGE_WORK_H_
