// --ffi: kernels of users, for commands that run steps.
#ifndef MESHWRIGHT_CLI_FFI_FLAG_H_
#define MESHWRIGHT_CLI_FFI_FLAG_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/cli/command_line.h"

namespace meshwright {

FlagSpec FfiFlag();

// Loads what the flags name (engine/ffi_library.h), for clients that are opened
// from then on.
absl::Status LoadFfiLibraries(const CommandLine& line);

// The same flags, for workers.
std::vector<std::string> FfiWords(const CommandLine& line);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_FFI_FLAG_H_
