// Lowers one instruction to its per-device form.
#ifndef MESHWRIGHT_RULES_LOWERING_H_
#define MESHWRIGHT_RULES_LOWERING_H_

#include <vector>

#include "meshwright/hlo/instruction.h"
#include "meshwright/program/local_builder.h"
#include "meshwright/rules/rule.h"

namespace meshwright {

// The input of a lowering. `operands` are the local values of the operand
// leaves, each in OperandSharding(rule, strategy, i).
struct LocalOp {
  const Instruction& instruction;
  const Rule& rule;
  const Strategy& strategy;
  std::vector<Instruction*> operands;

  const AxisList& axes(int32_t factor) const {
    return strategy.factor_axes[factor];
  }
  bool IsSplit(int32_t factor) const { return !axes(factor).empty(); }
};

// Returns the local values of the result leaves, each in ResultSharding(...).
// Emits into `builder`; must not look at anything but the LocalOp.
using Lowering = std::vector<Instruction*> (*)(const LocalOp& op,
                                               LocalBuilder& builder);

// Lowers by the opcode's entry in the rule table. Requires: IsValid(rule,
// strategy, builder.mesh()).
std::vector<Instruction*> Lower(const LocalOp& op, LocalBuilder& builder);

// The same instruction on local shapes, attributes unchanged: correct for every
// opcode whose attributes contain no sizes.
std::vector<Instruction*> LowerUnchanged(const LocalOp& op,
                                         LocalBuilder& builder);

// As LowerUnchanged with other attributes or operands.
std::vector<Instruction*> LowerWith(const LocalOp& op, Attributes attributes,
                                    std::vector<Instruction*> operands,
                                    LocalBuilder& builder);

// A value of `shape` assembled from the elements of `leaves` starting at
// `next`, which is advanced.
Instruction* Assemble(const Shape& shape,
                      const std::vector<Instruction*>& leaves, size_t& next,
                      LocalBuilder& builder);

// The local shape of result leaf `index`.
Shape LocalResultShape(const LocalOp& op, int32_t index,
                       const LocalBuilder& builder);

// `value` (operand leaf `operand`, or a value of its local shape) with the
// padding of factor `factor` replaced by `fill`, a scalar. `value` itself if
// the factor is not split or divides evenly.
Instruction* MaskPadding(const LocalOp& op, int32_t operand, int32_t factor,
                         Instruction* value, Instruction* fill,
                         LocalBuilder& builder);

}  // namespace meshwright

#endif  // MESHWRIGHT_RULES_LOWERING_H_
