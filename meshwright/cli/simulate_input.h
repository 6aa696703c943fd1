// What `simulate` is asked to simulate, from its arguments.
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
  // Held bytes were given; otherwise every stage holds 1 per micro-batch.
  bool in_bytes = false;
  std::vector<ScheduleKind> schedules;  // Several: to be compared.
  std::optional<Timetable> timetable;   // Given as a file, or in a plan.
  std::optional<Plan> plan;             // That all of it is from.
};

std::vector<FlagSpec> SimulateInputFlags();

// kInvalidArgument in one line that names the flag.
absl::StatusOr<SimulateInput> ReadSimulateInput(const CommandLine& line);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_SIMULATE_INPUT_H_
