// Files that a command is to write, looked at before it begins.
#ifndef MESHWRIGHT_CLI_CHECK_OUTPUTS_H_
#define MESHWRIGHT_CLI_CHECK_OUTPUTS_H_

#include "absl/status/status.h"
#include "meshwright/cli/command_line.h"

namespace meshwright {

// kInvalidArgument and the like, in a line that begins with the flag, when the
// file of a flag with FileUse::kWritten cannot be written, is another flag's or
// standard output's, or is one that the command reads and would lose.
absl::Status CheckOutputs(const CommandLine& line, const CommandSpec& spec);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_CHECK_OUTPUTS_H_
