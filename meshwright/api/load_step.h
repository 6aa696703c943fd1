// From a file to the step that is planned and run.
#ifndef MESHWRIGHT_API_LOAD_STEP_H_
#define MESHWRIGHT_API_LOAD_STEP_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

struct StepOptions {
  // A file, JSON: by custom-call target, how kernels are split.
  std::optional<std::string> rules;
  // kInvalidArgument for an op that no rule splits, if it has something to
  // split (WholeOps): its name, its target and what to do.
  bool require_rules = false;
};

// Reads and verifies a module. All fail with one line that begins with `path`.
absl::StatusOr<Module> LoadModule(const std::string& path);
absl::StatusOr<Module> ParseModule(absl::string_view bytes,
                                   const std::string& path);
// Gives the module's kernels the rules of that file, if there is one.
absl::Status ReadRules(const std::optional<std::string>& rules_file,
                       Module& module);
// Its calls inlined, as it is planned and run.
absl::StatusOr<Module> PrepareStep(Module module, const std::string& path,
                                   const StepOptions& options);
absl::StatusOr<Module> LoadStep(const std::string& path,
                                const StepOptions& options = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_API_LOAD_STEP_H_
