// Loads the step that is planned and run.
#ifndef MESHWRIGHT_API_LOAD_STEP_H_
#define MESHWRIGHT_API_LOAD_STEP_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// The module's frontend attribute with rules by custom-call target, as a rules
// file has them.
inline constexpr char kRulesAttribute[] = "mw.rules";

struct StepOptions {
  // A JSON file with sharding rules by custom-call target.
  std::optional<std::string> rules;
  bool require_rules = false;  // See RequireRules.
};

// Reads and verifies a module. Errors are one line that begins with `path`.
absl::StatusOr<Module> LoadModule(const std::string& path);
absl::StatusOr<Module> ParseModule(absl::string_view bytes,
                                   const std::string& path);
// Records in the module's kernels the rules that it brings (kRulesAttribute,
// which goes), then those of that file, if any, which replace them. Kernels for
// whose bodies there are better rules are no kernels then (OpenKnownKernels).
absl::Status ReadRules(const std::optional<std::string>& rules_file,
                       const std::string& path, Module& module);
// kInvalidArgument for an op without a sharding rule that has something to
// shard (WholeOps), with its name, its target and what to do.
absl::Status RequireRules(const Module& module);
// The step with calls inlined, as it is planned and run.
absl::StatusOr<Module> PrepareStep(Module module, const std::string& path,
                                   const StepOptions& options);
absl::StatusOr<Module> LoadStep(const std::string& path,
                                const StepOptions& options = {});

}  // namespace meshwright

#endif  // MESHWRIGHT_API_LOAD_STEP_H_
