// Rules in a line, for operations whose insides are not known.
//
//   b t n h, b s n h, b s n h -> b t n h, b n t {need_replication: t s h}
//
// Tensors are separated by commas, operands from results by an arrow. Each
// dimension is a factor, or several in parentheses, major first: `b (g r) h`.
// `...` stands for any number of dimensions, the same in all tensors that have
// it; what braces say of it they say of each.
// Braces say what is not plain, with `;` between:
//
//   reduction: k         results without it are sums over it; of what else:
//                        `reduction max: k`
//   need_replication: t  must not be split
//   g=4                  a size that parentheses leave open
//
// What is in operands and results is kept; in results only, whole. What some
// results have and others do not needs a word, or the op is not split there.
// The form in which JAX and XLA write Shardy's rules means the same:
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

// kInvalidArgument, saying which operand or result is wrong in which way, for a
// rule that is not of this form or does not fit the instruction's shapes.
absl::StatusOr<Rule> ParseRule(absl::string_view text,
                               const Instruction& instruction);

// The same rule for one device's part of the instruction: where it says how
// large factors are, it says so of the parts. `rule` is what it was parsed to;
// a text that does not fit stays as it is.
std::string LocalRuleText(absl::string_view text,
                          const Instruction& instruction, const Rule& rule,
                          const Strategy& strategy, const Mesh& mesh);

// The frontend attribute in which an instruction brings its rule; Shardy's own
// is read, too.
inline constexpr char kRuleAttribute[] = "mw.rule";
inline constexpr std::array kRuleAttributes = {kRuleAttribute,
                                               "xla.sdy.sharding_rule"};

// What is there, the first of them; null if none is.
const std::string* RecordedRule(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_RULE_TEXT_H_
