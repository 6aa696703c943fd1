// Sharding rules of custom calls of common libraries, by target.
#ifndef MESHWRIGHT_RULES_CALL_TABLE_H_
#define MESHWRIGHT_RULES_CALL_TABLE_H_

#include <optional>

#include "meshwright/rules/rule.h"

namespace meshwright {

// nullopt for a custom call that is not in the table, or whose shapes the rule
// of its target does not fit.
std::optional<Rule> TableRule(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_CALL_TABLE_H_
