// Reads and verifies the module of a command line.
#ifndef MESHWRIGHT_CLI_LOAD_MODULE_H_
#define MESHWRIGHT_CLI_LOAD_MODULE_H_

#include <string>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Fails with one line that begins with the path.
absl::StatusOr<Module> LoadModule(const std::string& path);
// The same, its calls inlined: as it is planned and run.
absl::StatusOr<Module> LoadStep(const std::string& path);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_LOAD_MODULE_H_
