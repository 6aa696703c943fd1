// Rules for operations of a module, from outside of it.
#ifndef MESHWRIGHT_RULES_RECORD_RULES_H_
#define MESHWRIGHT_RULES_RECORD_RULES_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// By custom-call target: a rule in a line (rule_text.h).
using RulesByTarget = std::map<std::string, std::string>;

// Every call brings its rule then, in place of what it brought. Targets that
// the module does not call are of no interest. kInvalidArgument, naming the
// instruction, for a rule that does not fit it.
absl::Status RecordRules(const RulesByTarget& rules, Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_RECORD_RULES_H_
