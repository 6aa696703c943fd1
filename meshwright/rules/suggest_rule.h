// Suggests a one-line rule (rule_text.h) for a kernel that has none, from its
// shapes.
//
//   my_norm (f32[32,128], f32[128]) -> f32[32,128], f32[32]
//   "b c, c -> b c, b {need_replication: c}"
//
// Shapes do not say what a kernel does. The suggested rule splits one factor,
// b, and is correct for kernels that compute every b independently of the
// others: it is the first dimension of as many tensors as possible, where a
// batch usually is. Results without it are taken to be sums over it, as
// gradients of weights are.
#ifndef MESHWRIGHT_RULES_SUGGEST_RULE_H_
#define MESHWRIGHT_RULES_SUGGEST_RULE_H_

#include <optional>
#include <string>

#include "meshwright/hlo/instruction.h"

namespace meshwright {

// The name of the factor that a suggested rule splits.
inline constexpr char kSuggestedFactor[] = "b";

// Whether an operand or result has a dimension of more than one element.
bool HasDimensionsToSplit(const Instruction& instruction);

// A rule for --rules. nullopt if no rule can shard the instruction: it is not a
// custom call, has side effects, its operands have no dimensions, or its
// program is for its shapes (shape_bound.h).
std::optional<std::string> SuggestRule(const Instruction& instruction);

// For a call whose program is for its shapes: a rule for meshwright.kernel
// around the function that makes the call.
std::optional<std::string> SuggestKernelRule(const Instruction& instruction);

// The target of a custom call, such as "norm"; otherwise the opcode.
std::string TargetOrOpcode(const Instruction& instruction);

// Advice for the user about an instruction without a rule, in a few words.
std::string AdviceOnRule(const Instruction& instruction);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_SUGGEST_RULE_H_
