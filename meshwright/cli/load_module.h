// Reads and verifies the module of a command line.
#ifndef MESHWRIGHT_CLI_LOAD_MODULE_H_
#define MESHWRIGHT_CLI_LOAD_MODULE_H_

#include <string>

#include "absl/status/statusor.h"
#include "meshwright/cli/command_line.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Fails with one line that begins with the path.
absl::StatusOr<Module> LoadModule(const std::string& path);
// Of commands that take a module: --rules FILE.
FlagSpec RulesFlag();
// Of commands that split one: --require-rules.
FlagSpec RequireRulesFlag();
// Gives the module's kernels the rules of that file, if there is one.
absl::Status ReadRules(const CommandLine& line, Module& module);
// Its calls inlined, as it is planned and run; with the rules of that file.
// With --require-rules kInvalidArgument for an op that no rule splits, if it
// has something to split (WholeOps): its name, its target and what to do.
absl::StatusOr<Module> LoadStep(const std::string& path,
                                const CommandLine& line = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_LOAD_MODULE_H_
