// The input of `simulate`, from its arguments.
#ifndef MESHWRIGHT_CLI_SIMULATE_INPUT_H_
#define MESHWRIGHT_CLI_SIMULATE_INPUT_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cli/command_line.h"
#include "meshwright/plan/plan.h"
#include "meshwright/schedule/pipeline.h"
#include "meshwright/schedule/schedule_kind.h"
#include "meshwright/schedule/timetable.h"

namespace meshwright {

struct SimulateInput {
  PipelineShape shape;
  PipelineCosts costs;
  // Whether held bytes were given; otherwise every stage holds 1 unit per
  // micro-batch.
  bool in_bytes = false;
  std::vector<ScheduleKind> schedules;  // Several are compared.
  std::optional<Timetable> timetable;   // From a file or a plan.
  std::optional<Plan> plan;  // The plan that everything is taken from, if any.
};

std::vector<FlagSpec> SimulateInputFlags();

// kInvalidArgument in one line that names the flag.
absl::StatusOr<SimulateInput> ReadSimulateInput(const CommandLine& line);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_SIMULATE_INPUT_H_
