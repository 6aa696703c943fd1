// Checks a command's output files before it begins.
#ifndef MESHWRIGHT_CLI_CHECK_OUTPUTS_H_
#define MESHWRIGHT_CLI_CHECK_OUTPUTS_H_

#include "absl/status/status.h"
#include "meshwright/cli/command_line.h"

namespace meshwright {

// An error in one line that begins with the flag if the file of a flag with
// FileUse::kWritten cannot be written, is also another flag's or standard
// output, or is an input that would be lost.
absl::Status CheckOutputs(const CommandLine& line, const CommandSpec& spec);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_CHECK_OUTPUTS_H_
