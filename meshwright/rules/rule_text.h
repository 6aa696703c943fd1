// One-line sharding rules, for operations whose implementation is not known.
//
//   b t n h, b s n h, b s n h -> b t n h, b n t {need_replication: t s h}
//
// Tensors are separated by commas, operands from results by an arrow. Each
// dimension is a factor, or several in parentheses, major first: `b (g r) h`.
// `...` stands for any number of dimensions, the same in all tensors that have
// it; what the braces say of it applies to each. Braces contain everything
// else, separated by `;`:
//
//   reduction: k         results without it are sums over it; of what else:
//                        `reduction max: k`
//   need_replication: t  must not be split
//   g=4                  a size that parentheses leave open
//
// A factor of operands and results is kept; one of results only must not be
// split. A factor that some results have and others lack must be named in the
// braces, or it must not be split. The syntax of Shardy's rules in JAX and XLA
// is accepted, too:
//
//   #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=4, k=2}
//                         reduction={k}, custom>
#ifndef MESHWRIGHT_RULES_RULE_TEXT_H_
#define MESHWRIGHT_RULES_RULE_TEXT_H_

#include <array>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

// kInvalidArgument, naming the operand or result and what is wrong, for a rule
// that is malformed or does not fit the instruction's shapes.
absl::StatusOr<Rule> ParseRule(absl::string_view text,
                               const Instruction& instruction);

// The same rule for one device's part of the instruction: sizes of factors that
// the text states become local sizes. `rule` is the parsed text; a text that
// does not fit is returned unchanged.
std::string LocalRuleText(absl::string_view text,
                          const Instruction& instruction, const Rule& rule,
                          const Strategy& strategy, const Mesh& mesh);

// The frontend attributes in which an instruction may carry its rule: ours, and
// Shardy's.
inline constexpr char kRuleAttribute[] = "mw.rule";
inline constexpr std::array kRuleAttributes = {kRuleAttribute,
                                               "xla.sdy.sharding_rule"};

// The first of these attributes that the instruction has; null if none.
const std::string* RecordedRule(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_RULE_TEXT_H_
