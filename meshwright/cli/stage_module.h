// Cuts the module of a command line into a pipeline, according to its flags.
#ifndef MESHWRIGHT_CLI_STAGE_MODULE_H_
#define MESHWRIGHT_CLI_STAGE_MODULE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cli/command_line.h"
#include "meshwright/engine/client.h"
#include "meshwright/hlo/module.h"
#include "meshwright/planner/planner.h"
#include "meshwright/runtime/pipeline_runner.h"
#include "meshwright/schedule/simulate.h"
#include "meshwright/schedule/timetable.h"

namespace meshwright {

// The flags that it reads: --stages, --devices-per-stage, --micro-batches,
// --estimate-statistics, --recompute, --schedule, --ranks.
std::vector<FlagSpec> StageFlags();

struct StagedModule : PlannedStages {
  std::vector<Mesh> meshes;  // By stage.
  std::string schedule;      // Its name, or file.
  // By stage: bytes of weights and other state.
  std::vector<int64_t> state_bytes;
  // Each micro-batch uses its own statistics instead of sums over the batch
  // (MicroBatchOptions::allow_inexact).
  bool estimates_statistics = false;

  int64_t device_count() const;  // Of all ranks.
};

// nullopt without --stages or a pipelined --plan. kInvalidArgument, beginning
// with the flag or file at fault. Requires: `module` passed Verify.
absl::StatusOr<std::optional<StagedModule>> StageModule(
    const Module& module, const CommandLine& line);

// Simulates the timetable of the runner's last step with the durations of its
// programs in that step.
absl::StatusOr<Simulation> SimulateLastStep(const JobRunner& runner);

// Writes a trace of the runner's last step, beside the simulation of its
// timetable with the measured durations.
absl::Status WriteStagedTrace(const std::string& path, const JobRunner& runner);

// A line per stage: its programs, its state and what it sends per step.
void PrintStages(const StagedModule& staged);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_STAGE_MODULE_H_
