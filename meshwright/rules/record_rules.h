// Sharding rules for operations of a module that are given outside of it
// (--rules).
#ifndef MESHWRIGHT_RULES_RECORD_RULES_H_
#define MESHWRIGHT_RULES_RECORD_RULES_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// By custom-call target: a one-line rule (rule_text.h).
using RulesByTarget = std::map<std::string, std::string>;

// Records its target's rule in every such call, replacing one that is there.
// Targets that the module does not call are ignored. kInvalidArgument, naming
// the instruction, for a rule that does not fit it or splits what cannot be
// split (shape_bound.h).
absl::Status RecordRules(const RulesByTarget& rules, Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_RECORD_RULES_H_
