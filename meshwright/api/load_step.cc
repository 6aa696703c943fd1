#include "meshwright/api/load_step.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/analysis/display_names.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/api/file_kind.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/hlo/batch_indices.h"
#include "meshwright/hlo/compression.h"
#include "meshwright/hlo/fold_transposes.h"
#include "meshwright/hlo/host_calls.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/kernel_calls.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/untuple_signature.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/loops/loop_sources.h"
#include "meshwright/partition/assignment.h"
#include "meshwright/partition/take_islands.h"
#include "meshwright/partition/whole_ops.h"
#include "meshwright/rules/open_known_kernels.h"
#include "meshwright/rules/record_rules.h"
#include "meshwright/rules/suggest_rule.h"

namespace meshwright {

absl::StatusOr<Module> LoadModule(const std::string& path) {
  MW_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kMaxModuleBytes));
  return ParseModule(bytes, path);
}

absl::StatusOr<Module> ParseModule(absl::string_view bytes,
                                   const std::string& path) {
  absl::StatusOr<Module> module = ReadModule(bytes);
  if (!module.ok()) {
    return ExplainContent(module.status(), path, bytes, FileKind::kModule);
  }
  MW_RETURN_IF_ERROR(Annotate(Verify(*module), path));
  return module;
}

namespace {

// Records rules written as JSON. `source` is what they are from.
absl::Status RecordRulesText(absl::string_view text, const std::string& source,
                             Module& module) {
  const nlohmann::json json =
      nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(
        source, ": is no JSON object of rules by custom-call target"));
  }
  RulesByTarget rules;
  for (const auto& [target, rule] : json.items()) {
    if (!rule.is_string()) {
      return absl::InvalidArgumentError(
          absl::StrCat(source, ": the rule of ", target, " is no string"));
    }
    rules[target] = rule.get<std::string>();
  }
  return Annotate(RecordRules(rules, module), source);
}

}  // namespace

absl::Status ReadRules(const std::optional<std::string>& rules_file,
                       const std::string& path, Module& module) {
  const auto own = module.frontend_attributes.find(kRulesAttribute);
  if (own != module.frontend_attributes.end()) {
    MW_RETURN_IF_ERROR(RecordRulesText(own->second, path, module));
    module.frontend_attributes.erase(own);  // The calls have them now.
  }
  if (rules_file.has_value()) {
    MW_ASSIGN_OR_RETURN(const std::string text, ReadFile(*rules_file));
    MW_RETURN_IF_ERROR(RecordRulesText(text, *rules_file, module));
  }
  OpenKnownKernels(module);
  return absl::OkStatus();
}

absl::Status RequireRules(const Module& module) {
  const FlatGraph graph = Flatten(module);
  const std::vector<OpId> whole = WholeOps(graph, RulesOf(graph));
  if (whole.empty()) return absl::OkStatus();
  const Instruction& first = *graph.ops[whole[0]].instruction;
  const DisplayNames names(module, AnalyzeRoles(module));
  return absl::InvalidArgumentError(absl::StrCat(
      "--require-rules: no rule splits ", names.Of(first), " (",
      TargetOrOpcode(first), ")",
      whole.size() == 1 ? ""
                        : absl::StrCat(", and ", whole.size() - 1, " more"),
      "; ", AdviceOnRule(first)));
}

absl::StatusOr<Module> PrepareStep(Module module, const std::string& path,
                                   const StepOptions& options) {
  UntupleSignature(module);
  MW_RETURN_IF_ERROR(Annotate(CallsToKernels(module), path));
  MW_RETURN_IF_ERROR(ReadRules(options.rules, path, module));
  const std::vector<const Instruction*> calls = HostCalls(module);
  if (!calls.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", HostCallWords(module, *calls[0]),
                     calls.size() == 1
                         ? ""
                         : absl::StrCat(", and ", calls.size() - 1, " more do"),
                     "; ", HostCallCure(*calls[0])));
  }
  if (HasManualRegions(module)) {
    absl::StatusOr<Module> taken = TakeIslands(std::move(module));
    if (!taken.ok()) return Annotate(taken.status(), path);
    module = *std::move(taken);
  } else if (HasCalls(module)) {
    module = InlineCalls(module);
  }
  BatchIndices(module, FindLoopSources(module));
  FoldTransposes(module);
  if (options.require_rules) {
    MW_RETURN_IF_ERROR(Annotate(RequireRules(module), path));
  }
  return module;
}

absl::StatusOr<Module> LoadStep(const std::string& path,
                                const StepOptions& options) {
  MW_ASSIGN_OR_RETURN(Module module, LoadModule(path));
  return PrepareStep(std::move(module), path, options);
}

}  // namespace meshwright
