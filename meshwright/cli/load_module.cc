#include "meshwright/cli/load_module.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/analysis/display_names.h"
#include "meshwright/analysis/roles.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/cli/file_kind.h"
#include "meshwright/graph/flat_graph.h"
#include "meshwright/hlo/batch_indices.h"
#include "meshwright/hlo/compression.h"
#include "meshwright/hlo/host_calls.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/kernel_calls.h"
#include "meshwright/hlo/read_module.h"
#include "meshwright/hlo/verify.h"
#include "meshwright/partition/assignment.h"
#include "meshwright/partition/take_islands.h"
#include "meshwright/partition/whole_ops.h"
#include "meshwright/rules/record_rules.h"
#include "meshwright/rules/suggest_rule.h"

namespace meshwright {

absl::StatusOr<Module> LoadModule(const std::string& path) {
  MW_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kMaxModuleBytes));
  absl::StatusOr<Module> module = ReadModule(bytes);
  if (!module.ok()) {
    return ExplainContent(module.status(), path, bytes, FileKind::kModule);
  }
  MW_RETURN_IF_ERROR(Annotate(Verify(*module), path));
  return module;
}

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

absl::Status ReadRules(const CommandLine& line, Module& module) {
  if (!line.Has("rules")) return absl::OkStatus();
  const std::string path = line.Text("rules", "");
  MW_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  const nlohmann::json json =
      nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": is no JSON object of rules by custom-call target"));
  }
  RulesByTarget rules;
  for (const auto& [target, rule] : json.items()) {
    if (!rule.is_string()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": the rule of ", target, " is no string"));
    }
    rules[target] = rule.get<std::string>();
  }
  return Annotate(RecordRules(rules, module), path);
}

namespace {

absl::Status CheckRules(const std::string& path, const Module& module) {
  const FlatGraph graph = Flatten(module);
  const std::vector<OpId> whole = WholeOps(graph, RulesOf(graph));
  if (whole.empty()) return absl::OkStatus();
  const Instruction& first = *graph.ops[whole[0]].instruction;
  const DisplayNames names(module, AnalyzeRoles(module));
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": --require-rules: no rule splits ", names.Of(first), " (",
      TargetOrOpcode(first), ")",
      whole.size() == 1 ? ""
                        : absl::StrCat(", and ", whole.size() - 1, " more"),
      "; ", AdviceOnRule(first)));
}

}  // namespace

absl::StatusOr<Module> LoadStep(const std::string& path,
                                const CommandLine& line) {
  MW_ASSIGN_OR_RETURN(Module module, LoadModule(path));
  MW_RETURN_IF_ERROR(Annotate(CallsToKernels(module), path));
  MW_RETURN_IF_ERROR(ReadRules(line, module));
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
  BatchIndices(module);
  if (line.Has("require-rules")) {
    MW_RETURN_IF_ERROR(CheckRules(path, module));
  }
  return module;
}

}  // namespace meshwright
