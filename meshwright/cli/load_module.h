// Loads the step of a command line, and the flags for that.
#ifndef MESHWRIGHT_CLI_LOAD_MODULE_H_
#define MESHWRIGHT_CLI_LOAD_MODULE_H_

#include <string>

#include "absl/status/statusor.h"
#include "meshwright/api/load_step.h"
#include "meshwright/cli/command_line.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Of commands that take a module: --rules FILE.
FlagSpec RulesFlag();
// Of commands that split one: --require-rules.
FlagSpec RequireRulesFlag();
// As those flags say.
absl::StatusOr<Module> LoadStep(const std::string& path,
                                const CommandLine& line);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_LOAD_MODULE_H_
