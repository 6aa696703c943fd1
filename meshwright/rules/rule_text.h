// Rules in a line, for operations whose insides are not known.
//
//   b t n h, b s n h, b s n h -> b t n h, b n t {need_replication: t s h}
//
// Tensors are separated by commas, operands from results by an arrow. Each
// dimension is a factor, or several in parentheses, major first: `b (g r) h`.
// `...` stands for leading dimensions, the same in all tensors that have it.
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

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

// kInvalidArgument, saying which operand or result is wrong in which way, for a
// rule that is not of this form or does not fit the instruction's shapes.
absl::StatusOr<Rule> ParseRule(absl::string_view text,
                               const Instruction& instruction);

// The frontend attribute in which an instruction brings its rule.
inline constexpr char kRuleAttribute[] = "mw.rule";

// What is there, or Shardy's own attribute; null if neither is.
const std::string* RecordedRule(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_RULE_TEXT_H_
