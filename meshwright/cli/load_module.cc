#include "meshwright/cli/load_module.h"

namespace meshwright {

FlagSpec RulesFlag() {
  return {"rules", "FILE",
          "JSON: by custom-call target, how kernels are split, as \"b n, n -> "
          "b n {need_replication: n}\""};
}

FlagSpec RequireRulesFlag() {
  return {"require-rules", "",
          "refuse a step with an operation that no rule splits, which every "
          "device would compute whole"};
}

absl::StatusOr<Module> LoadStep(const std::string& path,
                                const CommandLine& line) {
  return LoadStep(path,
                  StepOptions{.rules = line.Optional("rules"),
                              .require_rules = line.Has("require-rules")});
}

}  // namespace meshwright
