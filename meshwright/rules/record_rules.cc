#include "meshwright/rules/record_rules.h"

#include "absl/strings/str_cat.h"
#include "meshwright/base/annotate.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/rules/open_known_kernels.h"
#include "meshwright/rules/rule_text.h"
#include "meshwright/rules/shape_bound.h"

namespace meshwright {

absl::Status RecordRules(const RulesByTarget& rules, Module& module) {
  for (const auto& computation : module.computations()) {
    for (const auto& instruction : computation->instructions()) {
      if (instruction->opcode != Opcode::kCustomCall) continue;
      const auto rule = rules.find(instruction->attributes->custom_call_target);
      if (rule == rules.end()) continue;
      const std::string where =
          absl::StrCat(instruction->name, ": rule of ", rule->first);
      const absl::StatusOr<Rule> parsed = ParseRule(rule->second, *instruction);
      MW_RETURN_IF_ERROR(Annotate(parsed.status(), where));
      MW_RETURN_IF_ERROR(
          Annotate(CheckMayBeSplit(*instruction, *parsed), where));
      instruction->frontend_attributes[kRuleAttribute] = rule->second;
      instruction->frontend_attributes.erase(kTransparentAttribute);
    }
  }
  return absl::OkStatus();
}

}  // namespace meshwright
