// The commands of `meshwright`, one file each, and how they are dispatched.
#ifndef MESHWRIGHT_CLI_COMMANDS_H_
#define MESHWRIGHT_CLI_COMMANDS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "meshwright/cli/command_line.h"

namespace meshwright {

struct Command {
  const CommandSpec& (*spec)();
  absl::Status (*run)(const CommandLine& line);
};

extern const Command kDevicesCommand;
extern const Command kInspectCommand;
extern const Command kRunCommand;
extern const Command kPartitionCommand;
extern const Command kCheckCommand;
extern const Command kPlanCommand;
extern const Command kExplainCommand;
extern const Command kSimulateCommand;
extern const Command kScaleCommand;
extern const Command kSolveCommand;
extern const Command kProfileCommand;
extern const Command kDemoCommand;
extern const Command kWorkerCommand;
extern const Command kServeCommand;
extern const Command kLaunchCommand;
extern const Command kCheckpointCommand;

// Runs the command that `words` name. Returns the exit code: 0, 2 for a user's
// mistake, 3 if another process is lost, 1 for any other failure. Errors are
// one line.
int RunCli(absl::Span<const std::string> words);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_COMMANDS_H_
