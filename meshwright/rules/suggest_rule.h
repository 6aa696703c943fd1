// A rule in a line (rule_text.h) for a kernel that has none, from its shapes.
//
//   my_norm (f32[32,128], f32[128]) -> f32[32,128], f32[32]
//   "b c, c -> b c, b {need_replication: c}"
//
// Shapes do not say what a kernel does. The rule splits one factor, b, and is
// right for kernels that compute every b without the others: it is the first
// dimension of as many tensors as possible, which is a batch's place. Results
// without it are taken for sums over it, as gradients of weights are.
#ifndef MESHWRIGHT_RULES_SUGGEST_RULE_H_
#define MESHWRIGHT_RULES_SUGGEST_RULE_H_

#include <optional>
#include <string>

#include "meshwright/hlo/instruction.h"

namespace meshwright {

// The factor that a suggested rule splits.
inline constexpr char kSuggestedFactor[] = "b";

// An operand or a result has a dimension of more than one element.
bool HasDimensionsToSplit(const Instruction& instruction);

// What --rules takes for this custom call. None where no rule can split it: it
// is another opcode, has side effects, or its operands have no dimensions.
std::optional<std::string> SuggestRule(const Instruction& instruction);

// "norm", a custom call's target; else the opcode.
std::string TargetOrOpcode(const Instruction& instruction);

// What to do about an instruction that no rule splits, in a few words.
std::string AdviceOnRule(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_SUGGEST_RULE_H_
